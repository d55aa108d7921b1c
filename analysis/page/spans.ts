// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What happened when: a line for each y, with bars from and to a time.

import { axisBottom } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";

import { svg } from "./dom";
import type { Picture } from "./figure";
import { shown, text_width } from "./format";
import { colour_class, legend_of } from "./legend";
import { pair_in, text_in, type Chart } from "./report";

const k_row = 22;
const k_margin = { top: 6, bottom: 44 };
const k_character = 6.6; // pixels, at most

export function spans_of(chart: Chart): Picture {
  const column = chart.columns[chart.interval!]!;
  const lines: string[] = [];
  const kinds: string[] = [];
  let [first, last] = [Infinity, -Infinity];
  for (const row of chart.rows) {
    const span = pair_in(row, chart.interval);
    if (!span) continue;
    first = Math.min(first, span[0]);
    last = Math.max(last, span[1]);
    for (const [list, name] of [[lines, text_in(row, chart.y)], [kinds, text_in(row, chart.series)]] as const)
      if (!list.includes(name)) list.push(name);
  }
  const element = svg("svg", {
    role: "img",
    "aria-label":
      `${chart.title}. ${lines.length} lines, from ${shown(first, column)} to ${shown(last, column)} ${column.title}: ` +
      `${kinds.join(", ")}. The table under Data has all values.`,
  });
  const legend = legend_of(kinds);

  return {
    element,
    controls: [legend],
    draw(width) {
      const left = Math.min(width / 3, 16 + k_character * Math.max(...lines.map((line) => line.length), 3));
      const height = k_margin.top + lines.length * k_row + k_margin.bottom;
      const most = Math.floor((left - 12) / k_character);
      const x = scaleLinear().domain([first, last]).nice();
      x.range([left, width - 8 - text_width(shown(x.domain()[1]!, column)) / 2]); // the last tick's text needs room
      const bottom = svg("g", { class: "axis", transform: `translate(0,${height - k_margin.bottom})` });
      const ticks = x.ticks(Math.max(2, width / 110));
      select(bottom).call(axisBottom(x).tickValues(ticks).tickFormat((value) => shown(value, column)).tickSizeOuter(0));
      const names = lines.map((line, i) =>
        svg(
          "text",
          { x: left - 10, y: k_margin.top + (i + 0.5) * k_row + 4, "text-anchor": "end" },
          line.length > most ? line.slice(0, most - 1) + "\u2026" : line,
        ),
      );
      const bars = chart.rows.flatMap((row) => {
        const span = pair_in(row, chart.interval);
        if (!span) return [];
        const [line, kind] = [text_in(row, chart.y), text_in(row, chart.series)];
        return [
          svg(
            "g",
            { class: colour_class(kinds.indexOf(kind)) },
            svg("title", {}, `${line}, ${kind}: ${shown(span[0], column)} to ${shown(span[1], column)}`),
            svg("rect", {
              class: "span",
              x: x(span[0]),
              y: k_margin.top + lines.indexOf(line) * k_row + 3,
              width: Math.max(1, x(span[1]) - x(span[0])),
              height: k_row - 6,
            }),
          ),
        ];
      });
      const grid = ticks.map((tick) => svg("path", { class: "ruler", d: `M${x(tick)} ${k_margin.top}V${height - k_margin.bottom}` }));
      element.setAttribute("viewBox", `0 0 ${width} ${height}`);
      element.replaceChildren(
        ...grid,
        bottom,
        ...names,
        ...bars,
        svg("text", { class: "title", x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, column.title),
      );
    },
  };
}
