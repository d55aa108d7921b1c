// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The page's data, as html_writer.cpp writes it.

export type Cell = null | boolean | number | string | Cell[];

export interface TextBlock {
  kind: "text";
  label: string;
  text: string;
}
export interface Finding {
  id: string;
  severity: "note" | "warning" | "error";
  text: string;
}
export interface FindingsBlock {
  kind: "findings";
  label: string;
  section?: string; // with more
  more?: string; // the text of the link to it
  findings: Finding[];
}
export interface CodeBlock {
  kind: "code";
  lines: string[];
}
export interface TableBlock {
  kind: "table";
  columns: { title: string; left: boolean }[];
  cells: string[][]; // by row
  order: (number | null)[][]; // by column: what sorts it, null where the text does
  first: number; // so many rows are shown at first
  more: number; // rows that the page leaves out
}
export type Block = TextBlock | FindingsBlock | CodeBlock | TableBlock;

export interface ChartColumn {
  key: string;
  title: string;
  unit: string;
  digits: number;
}
// Numbers are indexes of columns.
export interface Chart {
  kind: "curve" | "forest" | "heat_map" | "bars" | "spans" | "boxes";
  title: string;
  columns: ChartColumn[];
  rows: Cell[][];
  lines: { name: string; at: number }[];
  x?: number;
  y?: number;
  series?: number;
  interval?: number;
  points?: number;
  state?: number;
  band?: number;
  value?: number;
}

// Columns are numbers, packed by packed_column.h. Times are in ticks; begins are differences to the
// one before, and so are the sums of a stretch.
export interface EventLane {
  name: string;
  start: string;
  length: string;
  id: string; // index in names
  sums: { begin: string; length: string; busy: string[] } | null; // by kind
}
export interface Timeline {
  title: string;
  note: string; // what the page lacks; empty: nothing
  kinds: string[];
  names: [string, number][]; // with their kind
  tick_ns: number;
  span_ns: number;
  events: number;
  lanes: EventLane[];
}

export type Part = "answer" | "figures" | "failures" | "method" | "provenance";
export interface Section {
  id: string;
  part: Part;
  title: string;
  charts: Chart[];
  timelines: Timeline[];
  blocks: Block[];
}
export interface Report {
  title: string;
  sections: Section[];
}

export function number_in(row: Cell[], column: number | undefined): number | null {
  const value = column === undefined ? null : row[column];
  return typeof value === "number" ? value : null;
}
export function text_in(row: Cell[], column: number | undefined): string {
  const value = column === undefined ? null : row[column];
  return value === null || value === undefined ? "" : String(value);
}
export function pair_in(row: Cell[], column: number | undefined): [number, number] | null {
  const value = column === undefined ? null : row[column];
  if (!Array.isArray(value)) return null;
  const [low, high] = value;
  return typeof low === "number" && typeof high === "number" ? [low, high] : null;
}
export function list_in(row: Cell[], column: number | undefined): number[] {
  const value = column === undefined ? null : row[column];
  return Array.isArray(value) ? value.filter((one): one is number => typeof one === "number") : [];
}
