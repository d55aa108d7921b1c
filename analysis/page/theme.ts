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

export type Rgb = [number, number, number];
export function style_rgb(name: string): Rgb {
  const digits = style_value(name).replace("#", "");
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16)) as Rgb;
}

export function theme_button(): HTMLButtonElement {
  let is_chosen = false;
  const is_dark = () => k_root.dataset.theme === "dark";
  const made = button("", { id: "theme" }, () => {
    is_chosen = true;
    show(!is_dark());
  });
  const show = (dark: boolean) => {
    k_root.dataset.theme = dark ? "dark" : "light";
    made.textContent = dark ? "Light theme" : "Dark theme";
    for (const redraw of listeners) redraw();
  };
  k_system.addEventListener("change", () => is_chosen || show(k_system.matches));
  show(k_system.matches);
  return made;
}
