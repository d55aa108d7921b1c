// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Numbers of charts as texts. Tables come with their texts.

import type { Cell, ChartColumn } from "./report";

const k_prefixes = ["", "K", "M", "G", "T", "P"];

// "64K": powers of 1024, as everywhere in ncclprobe.
function size_text(bytes: number): string {
  let power = 0;
  while (bytes >= 1024 && bytes % 1024 === 0 && power + 1 < k_prefixes.length) {
    bytes /= 1024;
    ++power;
  }
  while (bytes >= 10240 && power + 1 < k_prefixes.length) {
    bytes /= 1024;
    ++power;
  }
  return short_number(bytes) + k_prefixes[power];
}

// Three to four digits.
export function short_number(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return value.toExponential(2);
  if (size >= 1000) return String(Math.round(value));
  if (size === 0) return "0";
  return String(Number(value.toPrecision(size < 1 ? 3 : 4)));
}

// Pixels of a short text of a chart, at most.
export function text_width(text: string): number {
  return 6.8 * text.length;
}

export function shown(value: Cell, column: ChartColumn): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map((one) => shown(one, column)).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  switch (column.unit) {
    case "size":
      return size_text(value);
    case "ratio":
      return value.toFixed(column.digits > 2 ? column.digits : Math.abs(value - 1) < 0.01 ? 4 : 3) + "x";
    case "chance":
      return value < 0.0001 ? "<0.0001" : value.toFixed(4);
    case "share":
      return (100 * value).toFixed(column.digits);
    case "percent":
      return (100 * value).toFixed(column.digits) + "%";
    case "fixed":
      return value.toFixed(column.digits);
    default:
      return short_number(value);
  }
}
