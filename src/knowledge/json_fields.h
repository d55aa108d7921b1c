// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

// Reads the embedded documents: null and a missing field both mean "not sourced".
namespace ncclprobe::knowledge {

inline std::string text_of(const nlohmann::json& object, const char* field) {
  auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

template <typename T>
std::optional<T> optional_of(const nlohmann::json& object, const char* field) {
  auto found = object.find(field);
  if (found == object.end() || found->is_null())
    return std::nullopt;
  return found->get<T>();
}

inline std::vector<std::string> texts_of(const nlohmann::json& object, const char* field) {
  return optional_of<std::vector<std::string>>(object, field).value_or(std::vector<std::string>{});
}

inline std::vector<CodeTarget> targets_of(const nlohmann::json& object, const char* field) {
  std::vector<CodeTarget> all;
  for (const std::string& text : texts_of(object, field))
    all.push_back(value_or_throw(parse_code_target(text)));
  return all;
}

} // namespace ncclprobe::knowledge
