// TeX in a text ($…$, $$…$$, \(…\), \[…\]) as MathML, by KaTeX; anything else, and what it cannot read, stays text.

const TEX = /\$\$([^$]{1,2000})\$\$|\\\[([^]{1,2000}?)\\\]|\\\(([^]{1,2000}?)\\\)|\$(?![\s\d$])([^$\n]{1,400}?)(?<!\s)\$(?!\d)/g;

let katex = null;

/** Draws the TeX in the text nodes under an element; KaTeX is fetched with the first. */
export async function drawFormulas(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    TEX.lastIndex = 0;
    if (!walker.currentNode.parentElement.closest("code, math") && TEX.test(walker.currentNode.data)) found.push(walker.currentNode);
  }
  if (!found.length) return;
  if (!katex) {
    await import("./vendor/katex/katex.min.js"); // a plain script: it names itself
    katex = globalThis.katex;
  }
  for (const node of found) node.replaceWith(...drawn(node.data));
}

function drawn(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TEX)) {
    const [whole, twoDollars, brackets, inline, dollars] = match;
    const isDisplay = twoDollars !== undefined || brackets !== undefined;
    const formula = document.createElement("span");
    try {
      katex.render(twoDollars ?? brackets ?? inline ?? dollars, formula, {
        output: "mathml", displayMode: isDisplay, throwOnError: true, strict: "ignore", trust: false, maxExpand: 200, maxSize: 20,
      });
    } catch {
      formula.textContent = whole;
    }
    parts.push(text.slice(at, match.index), formula);
    at = match.index + whole.length;
  }
  return [...parts, text.slice(at)];
}
