// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// A host: boxes in boxes, and lines for NVLinks. GPUs stand below each other at the right, so that
// the lines leave them without crossing a box; everything else is to their left, or above them
// where there is little room.

import { svg } from "./dom";
import type { Picture } from "./figure";
import { text_in, type Cell, type Chart } from "./report";

const k_pad = 8;
const k_gap = 6;
const k_line = 15; // of text
const k_head = 20; // of a box that holds others
const k_character = 6.5; // pixels, on average
const k_least_for_columns = 620; // pixels of the picture
const k_most_box = 330;
const k_track = 14; // between lines that run beside each other
const k_switch = 84;
const k_label = 66; // of a text above a line

interface Box {
  id: string;
  kind: string;
  title: string;
  details: string[];
  inside: Box[];
}
interface Link {
  from: string;
  to: string;
  count: string;
  title: string;
}
interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

function details_in(cell: Cell | undefined): string[] {
  return Array.isArray(cell) ? cell.map(String) : [];
}

function read(chart: Chart): { root: Box | null; links: Link[]; boxes: Box[] } {
  const at = (key: string) => chart.columns.findIndex((column) => column.key === key);
  const [id, kind, inside, to, title, details] = ["id", "kind", "inside", "to", "title", "details"].map(at) as
    [number, number, number, number, number, number];
  const boxes = new Map<string, Box>();
  const links: Link[] = [];
  let root: Box | null = null;
  for (const row of chart.rows) {
    const what = [text_in(row, title), ...details_in(row[details])];
    if (text_in(row, kind) === "nvlink") {
      links.push({ from: text_in(row, inside), to: text_in(row, to), count: what[0]!.split(" ")[0]!, title: what.join(", ") });
      continue;
    }
    const box = { id: text_in(row, id), kind: text_in(row, kind), title: what[0]!, details: what.slice(1), inside: [] };
    boxes.set(box.id, box);
    const outer = boxes.get(text_in(row, inside));
    if (outer) outer.inside.push(box);
    else root = box;
  }
  return { root, links, boxes: [...boxes.values()] };
}

// Texts in lines of at most so many letters.
function lines_of(texts: string[], letters: number): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const last = lines[lines.length - 1];
    if (last !== undefined && last.length + 2 + text.length <= letters) lines[lines.length - 1] = `${last}, ${text}`;
    else lines.push(text);
  }
  return lines;
}

function cut(text: string, letters: number): string {
  return text.length <= letters ? text : text.slice(0, Math.max(1, letters - 1)) + "\u2026";
}

// What shines through would change the colour, so each has the background of the page below it.
function rectangles(x: number, y: number, width: number, height: number): SVGElement[] {
  const place = { x, y, width, height, rx: 4 };
  return [svg("rect", { class: "back", ...place }), svg("rect", { class: "front", ...place })];
}

interface Track {
  link: Link;
  top: number; // of the GPUs' order
  bottom: number;
  track: number;
}

// Lines that overlap run beside each other, the short ones next to the GPUs.
function tracks_of(links: Link[], gpus: string[]): Track[] {
  const all = links
    .map((link) => [gpus.indexOf(link.from), gpus.indexOf(link.to), link] as const)
    .filter(([from, to]) => from >= 0 && to >= 0)
    .map(([from, to, link]) => ({ link, top: Math.min(from, to), bottom: Math.max(from, to), track: 0 }))
    .sort((a, b) => a.bottom - a.top - (b.bottom - b.top) || a.top - b.top);
  all.forEach((one, i) => {
    const taken = new Set(
      all.slice(0, i).filter((other) => other.top <= one.bottom && one.top <= other.bottom).map((other) => other.track),
    );
    while (taken.has(one.track)) ++one.track;
  });
  return all;
}

export function boxes_of(chart: Chart): Picture {
  const { root, links, boxes } = read(chart);
  const count = (kind: string, one: string, many: string): string[] => {
    const found = boxes.filter((box) => box.kind === kind).length;
    return found === 0 ? [] : [`${found} ${found === 1 ? one : many}`];
  };
  const title_of = (id: string) => boxes.find((box) => box.id === id)?.title ?? id;
  const sentences = [
    [
      ...count("gpu", "GPU", "GPUs"),
      ...count("nic", "NIC", "NICs"),
      ...count("pci_switch", "PCIe switch", "PCIe switches"),
      ...count("numa", "NUMA node", "NUMA nodes"),
    ].join(", "),
    ...links.slice(0, 12).map((link) => `${title_of(link.from)} to ${title_of(link.to)}: ${link.title}`),
    "The table under Data has all",
  ];
  const element = svg("svg", { role: "img", "aria-label": `${chart.title}. ${sentences.join(". ")}.` });

  function draw(width: number): void {
    const has_switches = boxes.some((box) => box.kind === "nvswitch");
    const in_columns = width >= k_least_for_columns;
    const gpu_ids: string[] = [];
    const collect = (box: Box) => {
      if (box.kind === "gpu") gpu_ids.push(box.id);
      box.inside.forEach(collect);
    };
    if (root) collect(root);
    const tracks = tracks_of(links, gpu_ids);
    const track_count = Math.max(0, ...tracks.map((one) => one.track + 1));
    const track = in_columns ? k_track : Math.min(k_track, 96 / Math.max(1, track_count));
    const link_width = k_pad + track_count * track + (has_switches ? k_label + k_switch : 0);
    const most = Math.max(200, width - (links.length > 0 ? link_width : 0) - 1);
    const places = new Map<string, Place>();
    const drawn: SVGElement[] = [];

    const leaf = (box: Box, x: number, y: number, wide: number): number => {
      const letters = Math.floor((wide - 2 * k_pad) / k_character);
      const lines = [...lines_of(box.details, letters)];
      const height = 2 * k_pad + k_line * (1 + lines.length) - 3;
      places.set(box.id, { x, y, width: wide, height });
      drawn.push(
        svg(
          "g",
          { class: `box ${box.kind}` },
          svg("title", {}, [box.title, ...box.details].join("\n")),
          ...rectangles(x, y, wide, height),
          svg("text", { class: "head", x: x + k_pad, y: y + k_pad + 10 }, cut(box.title, letters)),
          ...lines.map((line, i) => svg("text", { class: "detail", x: x + k_pad, y: y + k_pad + 10 + k_line * (i + 1) }, cut(line, letters))),
        ),
      );
      return height;
    };

    // Returns the height. A box ends at `right`, as all around a GPU do.
    const outer = (box: Box, x: number, y: number, right: number): number => {
      const frame = svg("g", { class: `box ${box.kind}` });
      drawn.push(frame);
      const letters = Math.floor((right - x - 2 * k_pad) / k_character);
      const head = [box.title, ...box.details].join(", ");
      let at = y + k_head + 2;
      const [left_edge, right_edge] = [x + k_pad, right - k_pad];
      const is_leaf = (one: Box) => one.kind === "gpu" || one.kind === "nic";
      const gpus = box.inside.filter((one) => one.kind === "gpu");
      const others = box.inside.filter((one) => is_leaf(one) && one.kind !== "gpu");
      const room = right_edge - left_edge;
      const gpu_width = Math.min(k_most_box, in_columns ? (room - k_gap) / 2 : room);
      const other_width = in_columns ? Math.min(k_most_box, (room - gpu_width - k_gap) / (room > 900 ? 2 : 1) - k_gap) : room;
      const gpu_top = at;
      let other_bottom = at;
      let column_x = left_edge;
      let row_bottom = at;
      for (const other of others) {
        if (column_x > left_edge && column_x + other_width > right_edge - (gpus.length > 0 && in_columns ? gpu_width + k_gap : 0)) {
          column_x = left_edge;
          at = row_bottom + k_gap;
        }
        row_bottom = Math.max(row_bottom, at + leaf(other, column_x, at, other_width));
        other_bottom = row_bottom;
        column_x += other_width + k_gap;
        if (!in_columns) {
          column_x = left_edge;
          at = row_bottom + k_gap;
        }
      }
      at = in_columns || others.length === 0 ? gpu_top : other_bottom + k_gap;
      for (const gpu of gpus) at += leaf(gpu, right_edge - gpu_width, at, gpu_width) + k_gap;
      at = Math.max(at, others.length > 0 ? other_bottom + k_gap : at);
      for (const one of box.inside)
        if (!is_leaf(one) && one.kind !== "nvswitch") at += outer(one, left_edge, at, right_edge) + k_gap;
      const height = at - y + (box.inside.length > 0 ? k_pad - k_gap : 0);
      frame.append(
        svg("title", {}, [box.title, ...box.details].join("\n")),
        ...rectangles(x, y, right - x, height),
        svg("text", { class: "head", x: x + k_pad, y: y + 15 }, cut(head, letters)),
      );
      return height;
    };
    const height = root ? outer(root, 0.5, 0.5, most) : 0;

    // Where lines leave a GPU, from top to bottom: upward lines with the nearest track first, then
    // downward lines with the farthest first, so they do not cross each other.
    const ports = new Map<string, number>();
    for (const [place, id] of gpu_ids.entries()) {
      const up = tracks.filter((one) => one.bottom === place).sort((a, b) => a.track - b.track);
      const down = tracks.filter((one) => one.top === place).sort((a, b) => b.track - a.track);
      const box = places.get(id)!;
      [...up, ...down].forEach((one, i, all) =>
        ports.set(`${id} ${one.link.from} ${one.link.to}`, box.y + (box.height * (i + 1)) / (all.length + 1)),
      );
    }
    const lines: SVGElement[] = [];
    for (const { link, top, bottom, track: number } of tracks) {
      const [a, b] = [gpu_ids[top]!, gpu_ids[bottom]!];
      const [from, to] = [a, b].map((id) => ports.get(`${id} ${link.from} ${link.to}`)!) as [number, number];
      const x = most + k_pad + (number + 0.5) * track;
      const [from_x, to_x] = [a, b].map((id) => places.get(id)!.x + places.get(id)!.width) as [number, number];
      lines.push(
        svg(
          "g",
          { class: "nvlink" },
          svg("title", {}, `${title_of(link.from)} to ${title_of(link.to)}: ${link.title}`),
          svg("path", { d: `M${from_x} ${from}H${x}V${to}H${to_x}`, "stroke-width": Math.min(4, 0.75 + 0.5 * Number(link.count)) }),
          svg("text", { x, y: (from + to) / 2 + 4, "text-anchor": "middle" }, link.count),
        ),
      );
    }
    if (has_switches) {
      const x = most + k_pad + track_count * track + k_label;
      const switched = links.filter((link) => places.has(link.from) && !places.has(link.to));
      const middles = switched.map((link) => places.get(link.from)!).map((box) => box.y + box.height / 2);
      const [first, last] = [Math.min(...middles) - 24, Math.max(...middles) + 24];
      switched.forEach((link, i) => {
        const box = places.get(link.from)!;
        lines.push(
          svg(
            "g",
            { class: "nvlink" },
            svg("title", {}, `${title_of(link.from)} to ${title_of(link.to)}: ${link.title}`),
            svg("path", { d: `M${box.x + box.width} ${middles[i]!}H${x}`, "stroke-width": Math.min(4, 0.75 + 0.2 * Number(link.count)) }),
            svg("text", { x: x - 6, y: middles[i]! - 5, "text-anchor": "end" }, `${link.count} links`),
          ),
        );
      });
      lines.push(
        svg(
          "g",
          { class: "box nvswitch" },
          ...rectangles(x, first, k_switch, last - first),
          svg("text", { class: "head", x: x + k_switch / 2, y: (first + last) / 2 + 4, "text-anchor": "middle" }, "NVSwitches"),
        ),
      );
    }
    element.setAttribute("viewBox", `0 0 ${width} ${height + 1}`);
    element.replaceChildren(...drawn, ...lines);
  }
  return { element, draw };
}
