// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_names.h"

#include "base/similar_words.h"
#include "workload/nccl_name_table.h"
#include "workload/nccl_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ncclprobe::workload {
namespace {

constexpr std::string_view k_prefix = "NCCL_";

// At a larger distance it is another name, however long: NCCL_TIMEOUT is not NCCL_IB_TIMEOUT.
constexpr std::size_t k_most_edits = 2;
constexpr std::size_t k_letters_per_edit = 3;

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    parts.push_back(name.substr(0, name.find('_')));
    name.remove_prefix(std::min(parts.back().size() + 1, name.size()));
  }
  return parts;
}

struct Misspelling {
  const Variable* meant = nullptr; // none is near
  std::size_t edits = 0;
};

// Typing errors, and parts in another order.
Misspelling misspelling(std::string_view name) {
  std::string_view own = name.substr(k_prefix.size());
  std::vector<std::string_view> parts = parts_of(own);
  std::ranges::sort(parts);
  Misspelling nearest{nullptr, std::min(k_most_edits, own.size() / k_letters_per_edit) + 1};
  for (const Variable& variable : nccl_variables()) {
    if (!variable.name.starts_with(k_prefix) || variable.until != 0)
      continue;
    std::string_view other = variable.name.substr(k_prefix.size());
    std::vector<std::string_view> its_parts = parts_of(other);
    std::ranges::sort(its_parts);
    std::size_t edits = its_parts == parts ? 0 : base::edits_between(own, other);
    if (edits < nearest.edits)
      nearest = {&variable, edits};
  }
  return nearest;
}

std::string with(std::string name, std::string_view old, std::string_view other) {
  std::size_t at = name.find(old);
  return at == std::string::npos ? std::string() : name.replace(at, old.size(), other);
}

// NCCL has the switch with the opposite meaning.
const Variable* opposite(std::string_view name) {
  for (auto [one, other] : {std::pair("ENABLE", "DISABLE"), std::pair("DISABLE", "ENABLE")})
    if (const Variable* found = find_variable(with(std::string(name), one, other));
        found != nullptr && found->until == 0)
      return found;
  return nullptr;
}

// The only name with all of these parts and one more.
const Variable* similar(std::string_view name) {
  std::vector<std::string_view> parts = parts_of(name);
  const Variable* only = nullptr;
  for (const Variable& variable : nccl_variables()) {
    std::vector<std::string_view> its_parts = parts_of(variable.name);
    bool longer = its_parts.size() == parts.size() + 1 && variable.until == 0 &&
                  std::ranges::all_of(parts, [&](std::string_view part) {
                    return std::ranges::find(its_parts, part) != its_parts.end();
                  });
    if (!longer)
      continue;
    if (only != nullptr)
      return nullptr;
    only = &variable;
  }
  return only;
}

NameJudgement judge_known(const Variable& variable, int version) {
  if (is_read_by(variable, version))
    return {};
  if (version < variable.since)
    return {NameKind::not_read, "it came with " + nccl_version_text(variable.since)};
  return {NameKind::not_read,
          fmt::format("releases before {} did", nccl_version_text(variable.until))};
}

// Facts about a name that is not in the table of variables.
NameJudgement judge_listed(std::string_view name) {
  using namespace table;
  auto is_name = [&](const auto& entry) { return entry.name == name; };
  if (auto found = std::ranges::find_if(k_retired, is_name); found != k_retired.end())
    return {NameKind::not_read,
            fmt::format("only old releases read it; the closest name is {}", found->better)};
  if (auto found = std::ranges::find_if(k_fictions, is_name); found != k_fictions.end())
    return {NameKind::mistaken, std::string(found->truth)};
  if (auto found = std::ranges::find_if(k_other_names, is_name); found != k_other_names.end())
    return {NameKind::mistaken, fmt::format("NCCL's name for it is {}", found->better),
            std::string(found->better)};
  if (std::ranges::find(k_of_pytorch, name) != k_of_pytorch.end())
    return {NameKind::mistaken,
            fmt::format("PyTorch's variable is TORCH_{} (some had no TORCH_ before PyTorch 2.2)",
                        name)};
  if (std::ranges::find(k_of_builds, name) != k_of_builds.end())
    return {NameKind::harmless, "builds and container images set it"};
  return {NameKind::unknown, ""};
}

NameJudgement judge_own(std::string_view name) {
  if (is_own_variable(name))
    return {};
  if (name == "NCCLPROBE_TUNER_TABLE" || name == "NCCLPROBE_TUNER_HITS")
    return {NameKind::foreign, "libncclprobe-tuner reads it"};
  std::string_view meant = base::most_similar(name, table::k_own);
  if (meant.empty() || base::edits_between(name, meant) > k_most_edits)
    return {NameKind::harmless, "no backend reads it"};
  return {NameKind::misspelt, fmt::format("the name is {}", meant), std::string(meant)};
}

} // namespace

bool is_own_variable(std::string_view name) {
  return std::ranges::find(table::k_own, name) != table::k_own.end();
}

NameJudgement judge_name(std::string_view name, int version) {
  if (name.starts_with(k_own_prefix))
    return judge_own(name);
  if (version == 0)
    version = k_newest_known_nccl;
  if (const Variable* variable = find_variable(name))
    return name.starts_with(k_prefix) ? judge_known(*variable, version) : NameJudgement{};
  if (NameJudgement listed = judge_listed(name); listed.kind != NameKind::unknown)
    return listed;
  Misspelling typo = name.starts_with(k_prefix) ? misspelling(name) : Misspelling{};
  for (const table::ForeignPrefix& foreign : table::k_foreign)
    if (name.starts_with(foreign.prefix) && (typo.meant == nullptr || typo.edits > 1))
      return {NameKind::foreign, fmt::format("{} reads it", foreign.whose)};
  if (!name.starts_with(k_prefix))
    return {NameKind::harmless, "it is not one of NCCL's names"};
  if (const Variable* variable = opposite(name))
    return {NameKind::mistaken,
            fmt::format("NCCL has {}, with the opposite meaning", variable->name),
            std::string(variable->name), true};
  if (typo.meant != nullptr) // an unknown release may have introduced the name
    return {version > k_newest_known_nccl ? NameKind::similar : NameKind::misspelt,
            fmt::format("NCCL's name is {}", typo.meant->name), std::string(typo.meant->name)};
  if (const Variable* variable = similar(name))
    return {NameKind::similar,
            fmt::format("the closest name that NCCL reads is {}", variable->name)};
  return {NameKind::unknown, ""};
}

} // namespace ncclprobe::workload
