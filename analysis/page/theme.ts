// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Light and dark. The system decides until the reader does; paper is always light.

import { button } from "./dom";

const k_root = document.documentElement;
const k_system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];

export function on_theme(redraw: () => void): void {
  listeners.push(redraw);
}

// A colour or font of style.css, as charts on a canvas need it.
export function style_value(name: string): string {
  return getComputedStyle(k_root).getPropertyValue("--" + name).trim();
}

export function theme_button(): HTMLButtonElement {
  const is_dark = () => (k_root.dataset.theme ?? (k_system.matches ? "dark" : "light")) === "dark";
  const name = () => (is_dark() ? "Light theme" : "Dark theme");
  const made = button(name(), { id: "theme" }, () => {
    k_root.dataset.theme = is_dark() ? "light" : "dark";
    tell();
  });
  const tell = () => {
    made.textContent = name();
    for (const redraw of listeners) redraw();
  };
  k_system.addEventListener("change", tell);
  return made;
}
