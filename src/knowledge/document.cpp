// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/document.h"

#include "knowledge/json_fields.h"

#include <algorithm>
#include <stdexcept>

namespace ncclprobe::knowledge {

nlohmann::json section(std::string_view name, const char* part) {
  std::string_view text = embedded_text(name);
  if (text.empty())
    throw std::logic_error("no embedded document " + std::string(name));
  return nlohmann::json::parse(text).at(part);
}

NCCLPROBE_PARTLY_LENIENT_FIELDS(Citation, (what, grade), (url))

const std::vector<Citation>& sources() {
  static const std::vector<Citation> all = [] {
    std::vector<Citation> made;
    const nlohmann::json parsed = section("sources", "sources");
    for (const auto& [key, value] : parsed.items())
      made.emplace_back(value_of<Citation>(value)).key = key;
    return made;
  }();
  return all;
}

std::string source_text(const std::string& key) {
  // "techpowerup/geforce-rtx-4090.c3889" is a page of a source.
  const std::size_t slash = key.starts_with("https://") ? std::string::npos : key.find('/');
  auto found = std::ranges::find_if(
      sources(), [&](const Citation& one) { return one.key == key.substr(0, slash); });
  if (found == sources().end())
    return key;
  const std::string page = slash == std::string::npos ? "" : key.substr(slash + 1);
  return found->url.empty() ? found->what : found->url + page;
}

const std::string& tables_date() {
  static const std::string date = section("cuda", "date");
  return date;
}

std::string tables_are_of() {
  return tables_date() + "; newer releases are unknown";
}

} // namespace ncclprobe::knowledge
