// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis::hang {

// A pickle of Python that holds data alone: None, bool, int, float, str, bytes, tuple, list, dict
// and set, of protocols 2 to 5. Nothing in it is executed: an opcode that imports, calls or builds
// an object is an error. Values refer to each other by number, so a value that contains itself
// does no harm to those who read known fields.
class Pickle {
public:
  // `name`: of the file, for errors. Errors: protocol, with the byte and the opcode.
  static Result<Pickle> parse(std::string bytes, const std::string& name);

  // A value, valid as long as its pickle.
  class Ref {
  public:
    bool is_none() const;
    std::optional<bool> boolean() const;
    std::optional<std::int64_t> integer() const;
    std::optional<std::string_view> text() const; // str or bytes
    bool is_list() const;                         // or a tuple or a set
    bool is_dict() const;
    std::size_t size() const;          // elements of a list, entries of a dict; else 0
    Ref item(std::size_t at) const;    // of a list; of a dict a value. None beyond the end
    Ref key(std::size_t at) const;     // of a dict
    Ref field(std::string_view) const; // of a dict, the newest of that key; None if it has none

  private:
    friend class Pickle;
    Ref(const Pickle& of, std::uint32_t number) : of_(&of), number_(number) {}
    const Pickle* of_;
    std::uint32_t number_;
  };
  Ref root() const { return {*this, root_}; }

private:
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, dict };
  struct Node {
    Kind kind = Kind::none;
    std::uint32_t length = 0; // of a text; of a list or dict: its place in lists_
    std::uint64_t value = 0;  // a number; of a text where it begins
  };
  class Machine;

  std::string bytes_;
  std::vector<Node> nodes_{Node{}};               // the first one is None
  std::vector<std::vector<std::uint32_t>> lists_; // of a dict: keys and values in turns
  std::uint32_t root_ = 0;
};

} // namespace ncclprobe::analysis::hang
