// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The writer and reader of a document, independent of its format. described.h passes values to them
// in one order; a format without names (wire/packing.h) relies on that order.
namespace ncclprobe::base {

class Writer {
public:
  virtual ~Writer() = default;
  virtual bool has_names() const = 0; // fields are found by name, so some may be missing

  virtual void boolean(bool value) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void natural(std::uint64_t value) = 0;
  virtual void real(double value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void choice(std::uint64_t number, std::string_view name) = 0; // of an enumeration
  virtual void optional(bool present) = 0; // a value follows only if it is present
  virtual void list(std::size_t size) = 0; // this many values follow, then end()
  virtual void object() = 0;               // fields follow, each a key() and a value, then end()
  virtual void key(const char* name) = 0;
  virtual void end() = 0;
};

struct EnumName {
  std::uint64_t number;
  std::string_view name;
};

// Counterpart of Writer. All functions throw base::Exception (protocol) if the document does not
// match.
class Reader {
public:
  virtual ~Reader() = default;
  virtual bool has_names() const = 0;

  virtual bool boolean() = 0;
  virtual std::int64_t integer() = 0;
  virtual std::uint64_t natural() = 0;
  virtual double real() = 0;
  virtual std::string text() = 0;
  virtual std::uint64_t choice(std::span<const EnumName> names) = 0; // the number of one of them
  virtual bool optional() = 0;
  virtual std::size_t list() = 0; // its size
  virtual void element() = 0;     // before each value of a list
  virtual void object() = 0;
  enum class IfMissing { refuse, skip };
  virtual bool key(const char* name, IfMissing missing) = 0; // false: skip it
  virtual void end() = 0;
  virtual bool is_object() const = 0; // in formats with names: what is at this position
};

} // namespace ncclprobe::base
