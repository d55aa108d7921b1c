// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/json_access.h"

#include "base/document_limits.h"
#include "base/printable.h"
#include "base/text_files.h"

#include <cmath>

namespace ncclprobe::analysis::imports {
namespace {

// The text up to the end of the last list or object that is closed, and what closes the open ones
// around it. Empty if nothing is closed.
std::string closed(std::string_view text) {
  std::string open, open_at_end; // the brackets that will close them
  std::size_t end = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c)
        return "";
      open.pop_back();
      end = i + 1;
      open_at_end = open;
    }
  }
  if (end == 0)
    return "";
  std::string whole(text.substr(0, end));
  whole.append(open_at_end.rbegin(), open_at_end.rend());
  return whole;
}

} // namespace

Result<Document> read_document(std::string_view text) {
  NCCLPROBE_TRY(base::check_json_limits(text, "it"));
  Document document{Json::parse(text, nullptr, false), false};
  if (!document.json.is_discarded())
    return document;
  if (const std::string whole = closed(text); !whole.empty())
    document = {Json::parse(whole, nullptr, false), true};
  if (document.json.is_discarded())
    return fail(Errc::invalid_argument, "it is not JSON");
  return document;
}

const Json& member(const Json& json, const char* name) {
  static const Json k_null;
  if (!json.is_object())
    return k_null;
  const auto found = json.find(name);
  return found == json.end() ? k_null : *found;
}

std::optional<double> number_in(const Json& json) {
  std::optional<double> value;
  if (json.is_number())
    value = json.get<double>();
  else if (json.is_string())
    value = base::number_of<double>(json.get_ref<const std::string&>());
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> integer_in(const Json& json) {
  const auto value = number_in(json);
  if (!value || std::abs(*value) > 9e15 || *value != std::floor(*value))
    return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::string text_in(const Json& json) {
  return json.is_string() ? base::printable(json.get_ref<const std::string&>()) : std::string();
}

} // namespace ncclprobe::analysis::imports
