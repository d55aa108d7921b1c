// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Parts that add up, end to end, a bar for each y; parts below zero go to the left.

import { axisBottom } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";

import { svg } from "./dom";
import type { Picture } from "./figure";
import { shown, text_width } from "./format";
import { colour_class, legend_of } from "./legend";
import { number_in, text_in, type Chart } from "./report";

const k_row = 34;
const k_margin = { top: 6, bottom: 44 };
const k_least_width_of_text = 40;

interface Part {
  name: string;
  index: number;
  length: number;
}

export function bars_of(chart: Chart): Picture {
  const x_column = chart.columns[chart.x!]!;
  const y_column = chart.columns[chart.y!]!;
  const names: string[] = [];
  const bars = new Map<string, Part[]>();
  for (const row of chart.rows) {
    const length = number_in(row, chart.x);
    if (length === null || length === 0) continue;
    const name = text_in(row, chart.series);
    if (!names.includes(name)) names.push(name);
    const y = shown(row[chart.y!] ?? null, y_column);
    if (!bars.has(y)) bars.set(y, []);
    bars.get(y)!.push({ name, index: names.indexOf(name), length });
  }
  const sentences = [...bars].map(([y, parts]) => `${y}: ${parts.map((part) => `${part.name} ${shown(part.length, x_column)}`).join(", ")}`);
  const element = svg("svg", { role: "img", "aria-label": `${chart.title}. ${sentences.slice(0, 12).join("; ")}` });
  const legend = legend_of(names);

  return {
    element,
    controls: [legend],
    draw(width) {
      const longest = Math.max(...[...bars.keys()].map((y) => y.length), 4);
      const most = Math.min(longest, 30, Math.floor(width / 2 / text_width("x"))); // characters of a name
      const left = 20 + text_width("x".repeat(most));
      const height = k_margin.top + bars.size * k_row + k_margin.bottom;
      const sum = (parts: Part[], sign: number) => parts.reduce((all, part) => all + Math.max(0, sign * part.length), 0);
      const all = [...bars.values()];
      const x = scaleLinear()
        .domain([-Math.max(0, ...all.map((parts) => sum(parts, -1))), Math.max(...all.map((parts) => sum(parts, 1)), 1e-9)])
        .nice();
      x.range([left, width - 8 - text_width(shown(x.domain()[1]!, x_column)) / 2]); // the last tick's text needs room
      const bottom = svg("g", { class: "axis", transform: `translate(0,${height - k_margin.bottom})` });
      select(bottom).call(axisBottom(x).tickValues(x.ticks(Math.max(2, width / 110))).tickFormat((value) => shown(value, x_column)).tickSizeOuter(0));
      const drawn = [...bars].map(([y, parts], i) => {
        const top = k_margin.top + i * k_row + 4;
        let [below, above] = [0, 0];
        const boxes = parts.flatMap((part) => {
          const from = part.length < 0 ? (below += part.length) : above;
          if (part.length > 0) above += part.length;
          const at = x(from);
          const wide = x(from + Math.abs(part.length)) - at;
          const text = shown(part.length, x_column);
          return [
            svg("g", { class: colour_class(part.index) },
              svg("title", {}, `${y}, ${part.name}: ${text}`),
              svg("rect", { class: "part", x: at, y: top, width: Math.max(0, wide), height: k_row - 8 }),
              wide > k_least_width_of_text ? svg("text", { class: "inside", x: at + wide / 2, y: top + 18, "text-anchor": "middle" }, text) : null),
          ];
        });
        return svg("g", {}, svg("text", { class: "name", x: left - 10, y: top + 18, "text-anchor": "end" }, y.length > most ? y.slice(0, most - 1) + "\u2026" : y), ...boxes);
      });
      element.setAttribute("viewBox", `0 0 ${width} ${height}`);
      element.replaceChildren(
        bottom,
        ...drawn,
        svg("path", { class: "one", d: `M${x(0)} ${k_margin.top}V${height - k_margin.bottom}` }),
        svg("text", { class: "title", x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, x_column.title),
      );
    },
  };
}
