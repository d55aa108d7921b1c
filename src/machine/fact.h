// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"

#include <concepts>
#include <optional>
#include <utility>

namespace ncclprobe::topology {

// Found by argument-dependent lookup for the enumerations of this folder.
using base::to_string;

// The source of a fact.
enum class Source {
  none, // no source: the value is absent
  nvml,
  cuda,
  sysfs,
  hwloc,
  nccl,       // a topology or graph that NCCL wrote
  nvidia_smi, // text that nvidia-smi printed
  derived,    // derived from other facts
  user,
  synthetic, // invented, for tests and examples
};

// A value and its source. Absent means unknown: not zero, not "no".
template <typename T>
struct Fact {
  std::optional<T> value;
  Source source = Source::none;

  Fact() = default;
  Fact(T known, Source who) : value(std::move(known)), source(who) {}
  // Returns unknown for an unknown value, whatever the source. (A template, so text literals
  // are values.)
  template <std::same_as<std::optional<T>> Maybe>
  Fact(Maybe maybe, Source who) : value(std::move(maybe)), source(value ? who : Source::none) {}

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  T& operator*() { return *value; }
  const T* operator->() const { return &*value; }
  T* operator->() { return &*value; }
  T value_or(T other) const { return value ? *value : std::move(other); }
  // Takes the other's value if this one is unknown.
  void fill_from(const Fact& other) {
    if (!value)
      *this = other;
  }
  bool operator==(const Fact&) const = default;
};

} // namespace ncclprobe::topology
