// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_variables.h"

#include "workload/nccl_variable_table.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ncclprobe::workload {
namespace {

// Further than this a name is another name.
constexpr std::size_t k_most_edits = 4;
constexpr std::size_t k_letters_per_edit = 4;

// Insertions, deletions, replacements.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

template <typename Named>
const Named* find_named(std::span<const Named> all, std::string_view name) {
  auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

} // namespace

std::span<const Variable> nccl_variables() {
  return table::k_variables;
}

const Variable* find_variable(std::string_view name) {
  return find_named(nccl_variables(), name);
}

const RetiredVariable* find_retired_variable(std::string_view name) {
  return find_named(std::span<const RetiredVariable>(k_retired_variables), name);
}

std::optional<std::string_view> nearest_variable(std::string_view name) {
  std::size_t limit = std::min(k_most_edits, name.size() / k_letters_per_edit);
  const Variable* nearest = nullptr;
  std::size_t fewest = limit + 1;
  for (const Variable& variable : nccl_variables()) {
    std::size_t edits = edits_between(name, variable.name);
    bool nearer =
        edits < fewest || (nearest != nullptr && edits == fewest &&
                           common_prefix(name, variable.name) > common_prefix(name, nearest->name));
    if (!nearer)
      continue;
    fewest = edits;
    nearest = &variable;
  }
  if (nearest == nullptr)
    return std::nullopt;
  return nearest->name;
}

bool is_word_of(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    std::size_t bar = std::min(words.find('|'), words.size());
    if (words.substr(0, bar) == word)
      return true;
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

bool acts_on_network(Scope scope) {
  return scope == Scope::network || scope == Scope::socket || scope == Scope::infiniband ||
         scope == Scope::nvlink_between_nodes;
}

IntegerReading read_integer(std::string_view text) {
  std::string copy(text);
  char* end = nullptr;
  long long value = std::strtoll(copy.c_str(), &end, 0);
  return {value, end != copy.c_str() && *end == '\0'};
}

bool reads_integer(const Variable& variable) {
  return variable.kind == ValueKind::boolean || variable.kind == ValueKind::integer;
}

bool is_outside(const Variable& variable, std::int64_t value) {
  return variable.kind == ValueKind::integer &&
         (value < variable.range.least || value > variable.range.most);
}

} // namespace ncclprobe::workload
