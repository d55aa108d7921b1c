// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json_document.h"
#include "knowledge/compute_capability.h"
#include "knowledge/document.h"
#include "knowledge/version_number.h"

#include <nlohmann/json.hpp>

#include <vector>

// Reads the embedded documents into types that describe themselves: null and a missing field both
// mean "not sourced".
namespace ncclprobe::knowledge {

inline void read_as(base::Reader& in, VersionNumber& version) {
  version = value_or_throw(parse_version(in.text()));
}
inline void read_as(base::Reader& in, ComputeCapability& capability) {
  capability = value_or_throw(parse_compute_capability(in.text()));
}
inline void read_as(base::Reader& in, CodeTarget& target) {
  target = value_or_throw(parse_code_target(in.text()));
}

// Throws base::Exception, which is a defect of the document.
template <typename T>
T value_of(const nlohmann::json& part) {
  T value{};
  value_or_throw(base::read_json_tree(part, base::readable(value)));
  return value;
}
template <typename T>
std::vector<T> rows(std::string_view document, const char* part) {
  return value_of<std::vector<T>>(section(document, part));
}

} // namespace ncclprobe::knowledge
