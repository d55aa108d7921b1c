// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What every chart has around its picture: a title, its data as a table and as CSV, its picture as
// SVG or PNG.

import { button, html, svg } from "./dom";
import { shown } from "./format";
import type { Cell, Chart } from "./report";
import { on_theme, style_value } from "./theme";

const k_most_rows_shown = 500;
const k_copied_styles = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "display",
];

export interface Picture {
  element: SVGSVGElement | HTMLCanvasElement;
  draw(width: number): void; // may change the height
  controls?: Node[]; // above the picture
}

export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = html("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// RFC 4180. A list is one field, its values separated by blanks.
export function csv_of(chart: Chart): string {
  const field = (value: Cell): string => {
    const text = value === null ? "" : Array.isArray(value) ? value.join(" ") : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const lines = [chart.columns.map((column) => field(column.key)), ...chart.rows.map((row) => row.map(field))];
  return lines.map((line) => line.join(",") + "\r\n").join("");
}

// With all that style.css says of it, on the page's background.
function standalone(picture: SVGSVGElement): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const from = picture.querySelectorAll<SVGElement>("*");
  copy.querySelectorAll<SVGElement>("*").forEach((element, i) => {
    const styles = getComputedStyle(from[i]!);
    for (const name of k_copied_styles) element.setAttribute(name, styles.getPropertyValue(name));
    element.removeAttribute("class");
  });
  const { width, height } = picture.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.prepend(svg("rect", { width, height, fill: style_value("card") }));
  return new XMLSerializer().serializeToString(copy);
}

function save_png(name: string, picture: Picture["element"]): void {
  const keep = (canvas: HTMLCanvasElement) => canvas.toBlob((blob) => blob && save(name, blob));
  if (picture instanceof HTMLCanvasElement) return keep(picture);
  const { width, height } = picture.viewBox.baseVal;
  const image = new Image();
  const address = URL.createObjectURL(new Blob([standalone(picture)], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = html("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d")!.drawImage(image, 0, 0, 2 * width, 2 * height);
    URL.revokeObjectURL(address);
    keep(canvas);
  };
  image.src = address;
}

function data_table(chart: Chart): HTMLElement {
  const columns = chart.columns.map((column, c) => ({ column, c }));
  const rows = chart.rows.slice(0, k_most_rows_shown);
  const table = html(
    "table",
    {},
    html("caption", { class: "unseen" }, `Data of: ${chart.title}`),
    html("thead", {}, html("tr", {}, ...columns.map(({ column }) => html("th", { scope: "col" }, column.title)))),
    html(
      "tbody",
      {},
      ...rows.map((row) =>
        html("tr", {}, ...columns.map(({ column, c }) => html("td", {}, shown(row[c] ?? null, column)))),
      ),
    ),
  );
  const rest = chart.rows.length - rows.length;
  return html(
    "div",
    {},
    html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Data of: ${chart.title}` }, table),
    rest > 0 ? html("p", { class: "quiet" }, `${rest} more rows are in the CSV file.`) : null,
  );
}

export function figure_of(chart: Chart, id: string, picture: Picture): HTMLElement {
  const { element } = picture;
  const name = id.replace(/[^a-z0-9_-]+/gi, "-");
  const details = html("details", { class: "data" }, html("summary", {}, "Data"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(data_table(chart));
  });
  const tools = html(
    "div",
    { class: "tools" },
    button("CSV", { "aria-label": `Save the data of: ${chart.title}` }, () =>
      save(`${name}.csv`, new Blob([csv_of(chart)], { type: "text/csv" })),
    ),
    element instanceof SVGSVGElement
      ? button("SVG", { "aria-label": `Save as SVG: ${chart.title}` }, () =>
          save(`${name}.svg`, new Blob([standalone(element)], { type: "image/svg+xml" })),
        )
      : null,
    button("PNG", { "aria-label": `Save as PNG: ${chart.title}` }, () => save_png(`${name}.png`, element)),
  );
  const frame = html("div", { class: "picture" }, element);
  const made = html(
    "figure",
    { id, class: chart.kind },
    html("figcaption", {}, html("a", { href: `#${id}`, class: "anchor" }, chart.title)),
    ...(picture.controls ?? []),
    frame,
    html("div", { class: "below" }, details, tools),
  );
  let width = 0;
  const draw = () => width > 0 && picture.draw(width);
  new ResizeObserver(() => {
    if (frame.clientWidth === width) return;
    width = frame.clientWidth;
    draw();
  }).observe(frame);
  on_theme(draw);
  return made;
}
