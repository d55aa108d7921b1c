// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>
#include <type_traits>
#include <vector>

// The facts of each part of a machine, by name, which merging compares and `facts` shows: all of
// its fields that are facts, except unlisted ones (machine.h).
namespace ncclprobe::topology {

template <typename Owner, typename T>
struct NamedFact {
  std::string name;
  Fact<T> Owner::*field;
  bool passing;
};

// Before the names of facts of a GPU's parts.
template <typename Owner>
inline constexpr const char* k_fact_prefix = "";
template <>
inline constexpr const char* k_fact_prefix<PcieLink> = "pcie_";
template <>
inline constexpr const char* k_fact_prefix<Fabric> = "fabric_";

// Calls f(named fact) for each fact that `Owner` may have.
template <typename Owner, typename F>
void for_each_fact(F f) {
  auto call = [&]<typename T>(const char* name, Fact<T> Owner::*field, bool passing) -> void {
    f(NamedFact<Owner, T>{std::string(k_fact_prefix<Owner>) + name, field, passing});
  };
  fields(base::Of<Owner>{}, [&](const char* name, auto field, auto... attributes) {
    constexpr bool k_passing = base::k_has_attribute<Passing, decltype(attributes)...>;
    constexpr bool k_unlisted = base::k_has_attribute<Unlisted, decltype(attributes)...>;
    if constexpr (!k_unlisted && requires { call(name, field, k_passing); })
      call(name, field, k_passing);
  });
}

// A fact's value in words: "yes", "0-15,32-47", "0x10de", "H200".
std::string words_of(bool value);
std::string words_of(int value);
std::string words_of(double value);
std::string words_of(std::uint32_t value);
std::string words_of(std::uint64_t value);
std::string words_of(const std::string& value);
std::string words_of(const std::vector<int>& value);
std::string words_of(const std::vector<std::vector<int>>& value); // "0,32 1,33"
template <typename E>
requires std::is_enum_v<E> std::string words_of(E value) {
  return std::string(to_string(value));
}

} // namespace ncclprobe::topology
