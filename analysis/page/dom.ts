// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Elements without markup: every text is set as text, so nothing in a report can be a tag.

export type Child = Node | string | null;
export type Attributes = Record<string, string | number | boolean | null>;

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

export function html<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(name), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

export function button(text: string, attributes: Attributes, on_click: () => void): HTMLButtonElement {
  const made = html("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", on_click);
  return made;
}
