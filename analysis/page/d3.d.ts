// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The few functions of D3 5 that the page uses; Debian has no types for them.

declare module "d3-scale" {
  export interface Scale {
    (value: number): number;
    invert(at: number): number;
    domain(): number[];
    domain(ends: number[]): this;
    range(): number[];
    range(ends: number[]): this;
    ticks(count?: number): number[];
    nice(count?: number): this;
    copy(): this;
  }
  export interface LogScale extends Scale {
    base(base: number): this;
  }
  export function scaleLinear(): Scale;
  export function scaleLog(): LogScale;
}

declare module "d3-axis" {
  import type { Scale } from "d3-scale";
  import type { Selection } from "d3-selection";
  export interface Axis {
    (selection: Selection): void;
    tickValues(values: number[]): this;
    tickFormat(format: (value: number) => string): this;
    tickSize(size: number): this;
    tickSizeOuter(size: number): this;
    tickPadding(padding: number): this;
  }
  export function axisBottom(scale: Scale): Axis;
  export function axisLeft(scale: Scale): Axis;
}

declare module "d3-selection" {
  export interface Selection {
    call(action: unknown, ...more: unknown[]): this;
    on(event: string, listener: null | (() => void)): this;
  }
  export function select(element: Element): Selection;
  export const event: { transform: import("d3-zoom").ZoomTransform; ctrlKey?: boolean; metaKey?: boolean; type: string };
}

declare module "d3-shape" {
  export interface Line<T> {
    (points: T[]): string | null;
    x(of: (point: T) => number): this;
    y(of: (point: T) => number): this;
  }
  export function line<T>(): Line<T>;
  export interface SymbolType {
    draw: unknown;
  }
  export function symbol(): { type(type: SymbolType): { size(area: number): () => string } };
  export const symbols: SymbolType[];
  export const symbolCircle: SymbolType;
  export const symbolDiamond: SymbolType;
  export const symbolSquare: SymbolType;
}

declare module "d3-zoom" {
  export interface ZoomTransform {
    k: number;
    x: number;
    rescaleX<T extends import("d3-scale").Scale>(scale: T): T;
  }
  export interface Zoom {
    (selection: import("d3-selection").Selection): void;
    scaleExtent(extent: [number, number]): this;
    translateExtent(extent: [[number, number], [number, number]]): this;
    extent(extent: [[number, number], [number, number]]): this;
    filter(accepts: () => boolean): this;
    on(event: string, listener: () => void): this;
    transform: unknown;
    scaleBy: unknown;
  }
  export function zoom(): Zoom;
  export const zoomIdentity: ZoomTransform;
}
