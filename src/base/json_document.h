// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/described.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// JSON of values that describe themselves (described.h). Keys are sorted. Enumerations are written
// as names. This header hides the JSON library, which compiles slowly.
namespace ncclprobe::base {

// A value whose type only its function knows.
struct Writable {
  const void* value;
  void (*write)(Writer& out, const void* value);
};
template <typename T>
Writable writable(const T& value) {
  return {&value,
          [](Writer& out, const void* what) { write_value(out, *static_cast<const T*>(what)); }};
}
struct Readable {
  void* value;
  void (*read)(Reader& in, void* value);
};
template <typename T>
Readable readable(T& value) {
  return {&value, [](Reader& in, void* what) { read_value(in, *static_cast<T*>(what)); }};
}

// indent < 0: all on one line. Invalid UTF-8 is replaced.
std::string json_text(Writable value, int indent = -1);
// Compact JSON text; CBOR if a text in it is not UTF-8, which JSON cannot represent.
std::string json_or_cbor(Writable value);
nlohmann::json json_tree(Writable value);

// The position of an error in a document.
struct JsonPlace {
  std::string element;             // as a JSON pointer, "/hosts/0/pci/3"
  std::optional<std::size_t> byte; // byte of a text that is not JSON
};

// Without `place` the error message names the element. Errors: protocol, with the reason: not JSON,
// a field that is missing or has another type, an unknown name.
Result<void> read_json(std::string_view text, Readable value, JsonPlace* place = nullptr);
// The same for a document that is parsed already.
Result<void> read_json_tree(const nlohmann::json& tree, Readable value, JsonPlace* place = nullptr);
// Checks the limits of document_limits.h first.
Result<void> read_json_or_cbor(std::string_view bytes, Readable value);

template <typename T>
std::string write_json(const T& value) {
  return json_text(writable(value));
}
template <typename T>
Result<T> parse_json(std::string_view text, JsonPlace* place = nullptr) {
  T value{};
  NCCLPROBE_TRY(read_json(text, readable(value), place));
  return value;
}

} // namespace ncclprobe::base
