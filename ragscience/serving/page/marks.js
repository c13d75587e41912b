// The marks of quotes on a page: translucent boxes under the text, and a numbered button at the first of them.

export const COLOURS = 8;

/** The marks that are on a page of that number, with boxes. */
export function marksOn(marks, number) {
  return marks.filter((mark) => mark.page === number && mark.boxes.length > 0);
}

/** The marks' ids in their order, each once: a quote over two pages has a mark on each. */
export function idsOf(marks) {
  return [...new Set(marks.map((mark) => mark.id))];
}

/** The numbers that are shown, by id: the marks' own, or their order. */
export function numbersOf(marks) {
  const own = new Map(marks.map((mark) => [mark.id, mark.number]));
  return new Map(idsOf(marks).map((id, index) => [id, own.get(id) ?? index + 1]));
}

/**
 * Draw a page's marks into `layer`, which covers the page; `size` is the page's, in points as shown.
 * Boxes are set in shares of the page, so that they hold at every zoom.
 */
export function drawMarks(layer, marks, size, { numbers, focus, onMark }) {
  const drawn = document.createDocumentFragment();
  for (const mark of marks) {
    for (const box of mark.boxes) drawn.append(boxElement(mark, box, size, focus));
    drawn.append(buttonElement(mark, size, numbers.get(mark.id), focus, onMark));
  }
  layer.replaceChildren(drawn);
}

/** The id of the mark under a point of the window, or null; of several that of the smallest box. */
export function markAt(layer, x, y) {
  let found = null;
  let least = Infinity;
  for (const box of layer.querySelectorAll(".pdf-mark-box")) {
    const place = box.getBoundingClientRect();
    const inside = x >= place.left && x <= place.right && y >= place.top && y <= place.bottom;
    if (inside && place.width * place.height < least) {
      least = place.width * place.height;
      found = box.dataset.mark;
    }
  }
  return found;
}

function boxElement(mark, [left, top, right, bottom], size, focus) {
  const box = document.createElement("div");
  box.className = `pdf-mark-box pdf-colour-${mark.colour % COLOURS}`;
  box.classList.toggle("pdf-focused", mark.id === focus);
  box.dataset.mark = mark.id;
  box.style.left = share(left, size.width);
  box.style.top = share(top, size.height);
  box.style.width = share(right - left, size.width);
  box.style.height = share(bottom - top, size.height);
  return box;
}

function buttonElement(mark, size, number, focus, onMark) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = `pdf-mark pdf-colour-${mark.colour % COLOURS}`;
  button.classList.toggle("pdf-focused", mark.id === focus);
  button.dataset.mark = mark.id;
  button.textContent = String(number);
  button.setAttribute("aria-label", mark.label ? `quote ${number}: ${mark.label}` : `quote ${number}`);
  button.title = "Back to the sentence";
  const [left, top, right, bottom] = mark.boxes[0];
  button.classList.toggle("pdf-upright", bottom - top > 1.5 * (right - left)); // a line from top to bottom
  button.style.left = share(left, size.width);
  button.style.top = share(top, size.height);
  button.addEventListener("click", () => onMark(mark.id));
  return button;
}

function share(length, whole) {
  return `${(100 * length) / whole}%`;
}
