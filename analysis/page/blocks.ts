// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Texts, findings, lines to copy and tables of a section.

import { button, html } from "./dom";
import type { Block, CodeBlock, Finding, FindingsBlock, TextBlock } from "./report";
import { table_of } from "./table";

const k_severity = { note: "Note", warning: "Warning", error: "Error" };

// An answer says itself what it is.
function finding_of(finding: Finding, is_answer: boolean): HTMLElement {
  const is_plain = finding.severity === "note" || is_answer;
  return html(
    "p",
    { class: `finding ${finding.severity}`, "data-id": finding.id },
    is_plain ? null : html("strong", {}, k_severity[finding.severity] + ": "),
    finding.text,
  );
}

function findings_of(block: FindingsBlock, is_answer: boolean): HTMLElement {
  const label = /^!*$/.test(block.label) ? null : html("h3", {}, block.label);
  const kind = /to do$/i.test(block.label) ? "findings advice" : "findings";
  const made: HTMLElement[] = [];
  for (const one of block.findings) {
    const last = made[made.length - 1];
    if (last && /^\[[A-Z]+\]$/.test(one.text)) last.append(" " + one.text); // a mark of the sentence before
    else made.push(finding_of(one, is_answer));
  }
  if (block.section && block.more) made.push(html("p", {}, html("a", { href: `#${block.section}` }, block.more)));
  return html("div", { class: kind }, label, ...made);
}

function code_of(block: CodeBlock): HTMLElement {
  const text = block.lines.join("\n");
  const done = html("span", { role: "status" });
  const copy = button("Copy", { class: "copy" }, () => {
    navigator.clipboard.writeText(text).then(
      () => (done.textContent = "copied"),
      () => (done.textContent = "the browser does not allow it: select the text"),
    );
  });
  return html("div", { class: "code" }, html("pre", {}, html("code", {}, text)), copy, done);
}

// Texts with labels are one list of terms, those without are paragraphs.
function texts_of(texts: TextBlock[]): HTMLElement[] {
  const made: HTMLElement[] = [];
  let terms: HTMLDListElement | null = null;
  let points: HTMLUListElement | null = null;
  for (const { label, text } of texts) {
    const is_point = label === "-" || label === "*";
    if (label !== "" && !is_point) {
      points = null;
      if (terms === null) made.push((terms = html("dl")));
      terms.append(html("dt", {}, label.replace(/:$/, "")), html("dd", {}, text));
    } else if (is_point) {
      terms = null;
      if (points === null) made.push((points = html("ul")));
      points.append(html("li", {}, text));
    } else if (text !== "") {
      points = null;
      const last: Element | null = terms ? terms.lastElementChild : null;
      if (last) last.append(html("br"), text);
      else made.push(html("p", {}, text));
    }
  }
  return made;
}

export function blocks_of(blocks: Block[], title: string, is_answer: boolean): HTMLElement[] {
  const made: HTMLElement[] = [];
  let texts: TextBlock[] = [];
  const end_texts = () => {
    made.push(...texts_of(texts));
    texts = [];
  };
  for (const block of blocks) {
    if (block.kind === "text") {
      texts.push(block);
      continue;
    }
    end_texts();
    if (block.kind === "table") made.push(table_of(block, title));
    else if (block.kind === "code") made.push(code_of(block));
    else made.push(findings_of(block, is_answer));
  }
  end_texts();
  return made;
}
