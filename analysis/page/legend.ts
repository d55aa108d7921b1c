// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Which colour of an area means what.

import { html, svg } from "./dom";

const k_colours = 8; // of style.css

// The class of the series with this index. Colours repeat.
export function colour_class(index: number): string {
  return `s${index % k_colours}`;
}

export function legend_of(names: string[]): HTMLElement {
  if (names.length < 2) return html("div", { hidden: true });
  return html(
    "div",
    { class: "legend" },
    ...names.map((name, i) => {
      const swatch = svg("svg", { viewBox: "0 0 14 14", class: `swatch ${colour_class(i)}`, "aria-hidden": "true" });
      swatch.append(svg("rect", { class: "part", width: 14, height: 14 }));
      return html("span", { class: "key" }, swatch, name);
    }),
  );
}
