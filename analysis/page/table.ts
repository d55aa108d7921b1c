// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// A table that sorts by any column.

import { button, html } from "./dom";
import type { TableBlock } from "./report";

const k_longest_name = 18; // of a row, in one line on a phone

type Order = "ascending" | "descending";

function comparison(block: TableBlock, column: number): (a: number, b: number) => number {
  const order = block.order[column] ?? [];
  const words = new Intl.Collator("en", { numeric: true });
  const text = (row: number) => block.cells[row]?.[column] ?? "";
  return (a, b) => {
    const left = order[a] ?? null;
    const right = order[b] ?? null;
    if (left !== null && right !== null) return left - right;
    if (left !== null || right !== null) return left === null ? 1 : -1; // what has no number is last
    return words.compare(text(a), text(b));
  };
}

export function table_of(block: TableBlock, caption: string): HTMLElement {
  const all = block.cells.map((_, row) => row);
  let rows = all;
  let shown = block.first;
  const body = html("tbody");
  const headers: HTMLTableCellElement[] = [];
  const status = html("p", { class: "quiet", role: "status" });
  const show_all = button(`Show all ${all.length} rows`, { class: "more" }, () => {
    shown = all.length;
    draw();
  });

  const draw = () => {
    body.replaceChildren(
      ...rows.slice(0, shown).map((row) =>
        html(
          "tr",
          {},
          ...block.columns.map((column, c) => {
            const text = block.cells[row]?.[c] ?? "";
            const kind = column.left ? "left" : "right";
            return c === 0
              ? html("th", { scope: "row", class: kind }, text)
              : html("td", { class: kind }, text);
          }),
        ),
      ),
    );
    show_all.hidden = shown >= all.length;
  };

  const sort = (column: number) => {
    const header = headers[column]!;
    const order: Order = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of headers) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const compare = comparison(block, column);
    rows = [...all].sort((a, b) => (order === "ascending" ? compare(a, b) : compare(b, a)) || a - b);
    draw();
    status.textContent = `sorted by ${block.columns[column]!.title.trim() || "name"}, ${order}`;
  };

  block.columns.forEach((column, c) => {
    const title = column.title.trim();
    const header = html("th", { scope: "col", class: column.left ? "left" : "right" });
    header.append(
      title === ""
        ? html("span", { class: "unseen" }, "name")
        : button(title, { class: "sort" }, () => sort(c)),
    );
    headers.push(header);
  });
  draw();
  return html(
    "div",
    { class: "table" },
    html(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      html(
        "table",
        { class: block.cells.some((row) => (row[0] ?? "").length > k_longest_name) ? "long-names" : null },
        html("caption", { class: "unseen" }, caption),
        html("thead", {}, html("tr", {}, ...headers)),
        body,
      ),
    ),
    show_all,
    block.more > 0 ? html("p", { class: "quiet" }, `${block.more} more rows are in JSON and CSV.`) : null,
    status,
  );
}
