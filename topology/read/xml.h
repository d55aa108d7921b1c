// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/source_text.h"

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace ncclprobe::topology {

// An XML document that knows the lines of its elements.
class XmlFile {
public:
  // Errors: invalid_argument with file and line if it is not XML (also truncated, empty, or nested
  // deeper than any topology).
  static Result<XmlFile> parse(std::string_view text, const std::string& name);

  pugi::xml_node root() const { return document_.document_element(); }
  const std::string& name() const { return name_; }
  std::size_t line_of(const pugi::xml_node& node) const;

  template <typename... Args>
  tl::unexpected<Error> fail_at(const pugi::xml_node& node, fmt::format_string<Args...> text,
                                Args&&... args) const {
    return topology::fail_at(name_, line_of(node), text, std::forward<Args>(args)...);
  }

  // An attribute's value; nothing if it is missing or empty, an error if it is not such a number.
  // Whole numbers are decimal, or hexadecimal with 0x.
  Result<std::optional<std::int64_t>> whole_number(const pugi::xml_node& node,
                                                   const char* attribute) const;
  Result<std::optional<double>> number(const pugi::xml_node& node, const char* attribute) const;
  static std::optional<std::string> text(const pugi::xml_node& node, const char* attribute);

private:
  XmlFile() = default;
  Result<void> check_depth() const;

  std::string name_;
  std::string text_;
  pugi::xml_document document_;
};

// `text` as it is written between an attribute's quotes. NCCL does not read entities, so characters
// that need one become blanks.
std::string attribute_text(std::string_view text);

} // namespace ncclprobe::topology
