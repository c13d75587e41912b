// The steps of the agent in words.

import { counted } from "./elements.js";

const STEPS = {
  decompose_query: "Splitting the question:",
  retrieve: "Searching:",
  reason: "Drafting an answer:",
  reflect: "Does the draft answer the question?",
  generate_answer: "The answer:",
};

/** A step with its cost; behind it its queries, notes and what is missing, a line each. */
export function stepLines(step) {
  const cost = [
    step.searches && counted(step.searches, "search", "searches"),
    step.tool_calls && counted(step.tool_calls, "tool call"),
    step.llm_calls && counted(step.llm_calls, "model call"),
    `${step.seconds.toFixed(1)} s`,
  ].filter(Boolean);
  const again = step.iteration > 1 ? ` (pass ${step.iteration})` : "";
  const lines = [`${STEPS[step.node] ?? step.node}${again} ${resultOf(step)} [${cost.join(", ")}]`];
  if (step.node === "decompose_query") lines.push(...step.queries.map((query) => `? ${query}`));
  lines.push(...step.notes.map((note) => `- ${note}`));
  if (step.missing.length) lines.push(`missing: ${step.missing.join("; ")}`);
  return lines;
}

function resultOf(step) {
  if (step.score === null || !/^\d\.\d\d \(/.test(step.summary)) return step.summary;
  const likely = step.score >= 0.8 ? "likely" : step.score >= 0.5 ? "perhaps" : "unlikely";
  return `${likely} (${step.score.toFixed(2)})`;
}
