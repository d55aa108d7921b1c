// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/xml.h"

#include "base/text_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ncclprobe::topology {

namespace {

// The deepest real files have about ten levels: switches below switches.
constexpr int k_most_levels = 64;
// Limit of elements and attributes, because each takes more memory than text; a hundred hosts have
// fewer.
constexpr std::ptrdiff_t k_most_parts = 2'000'000;

} // namespace

Result<XmlFile> XmlFile::parse(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  if (std::ranges::count_if(text, [](char c) { return c == '<' || c == '='; }) > k_most_parts)
    return topology::fail_at(name, 1, "more than {} elements and attributes, which is the limit",
                             k_most_parts);
  // hwloc's own reader might expand them endlessly.
  if (std::size_t entity = text.find("<!ENTITY"); entity != std::string_view::npos)
    return topology::fail_at(name, line_at(text, entity), "XML entities are not supported");
  XmlFile file;
  file.name_ = name;
  file.text_ = std::string(text);
  pugi::xml_parse_result result = file.document_.load_buffer(
      file.text_.data(), file.text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result)
    return topology::fail_at(name, line_at(text, static_cast<std::size_t>(result.offset)),
                             "not well-formed XML: {}", result.description());
  NCCLPROBE_TRY(file.check_depth());
  return file;
}

Result<void> XmlFile::check_depth() const {
  int level = 0;
  pugi::xml_node node = root();
  while (node) {
    if (level > k_most_levels)
      return fail_at(node, "elements are nested more than {} levels deep", k_most_levels);
    if (node.first_child()) {
      node = node.first_child();
      ++level;
      continue;
    }
    while (node && node != root() && !node.next_sibling()) {
      node = node.parent();
      --level;
    }
    node = node == root() ? pugi::xml_node() : node.next_sibling();
  }
  return {};
}

std::size_t XmlFile::line_of(const pugi::xml_node& node) const {
  std::ptrdiff_t offset = node.offset_debug();
  return offset < 0 ? 1 : line_at(text_, static_cast<std::size_t>(offset));
}

Result<std::optional<std::int64_t>> XmlFile::whole_number(const pugi::xml_node& node,
                                                          const char* attribute) const {
  auto written = text(node, attribute);
  if (!written)
    return std::nullopt;
  std::string_view digits = trimmed(*written);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc() || stop != end)
    return fail_at(node, "<{}>: {}=\"{}\" is not a number", node.name(), attribute, *written);
  return value;
}

Result<std::optional<double>> XmlFile::number(const pugi::xml_node& node,
                                              const char* attribute) const {
  auto written = text(node, attribute);
  if (!written)
    return std::nullopt;
  auto value = base::number_of<double>(trimmed(*written));
  if (!value || !std::isfinite(*value))
    return fail_at(node, "<{}>: {}=\"{}\" is not a number", node.name(), attribute, *written);
  return value;
}

std::optional<std::string> XmlFile::text(const pugi::xml_node& node, const char* attribute) {
  std::string value = node.attribute(attribute).value();
  if (value.empty())
    return std::nullopt;
  return value;
}

std::string attribute_text(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c == '"' || c == '<' || c == '>' || c == '&' || static_cast<unsigned char>(c) < 0x20)
      c = ' ';
  return result;
}

} // namespace ncclprobe::topology
