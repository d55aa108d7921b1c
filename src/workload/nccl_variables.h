// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/nccl_version.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The environment variables that NCCL reads, and the values that it takes.
namespace ncclprobe::workload {

using Variables = std::map<std::string, std::string>; // an environment, by name

enum class ValueKind {
  boolean,      // 0 or 1, read as an integer
  integer,      // read by strtoll with base 0: hexadecimal and octal too
  flag,         // an integer; since 2.30.3 one of 1, T, TRUE, 0, F, FALSE in any case
  level,        // one of `words`, exactly, or a small number
  word,         // one of `words`, exactly
  any_case,     // one of `words`
  words,        // a list of `words` in any case
  algorithms,   // the list of NCCL_ALGO (nccl_selection.h)
  protocols,    // the list of NCCL_PROTO
  network_name, // one of `words` in any case, or the name that a plugin gives itself
  plugin,       // a library; `words` is what the names of such libraries begin with
  file,         // that NCCL opens
  interfaces,   // "eth0,ib", "^docker", "=eth1"
  address,      // host:port
  text,         // anything else
};

// Where a variable acts. What is read on a path that is not taken has no effect.
enum class Scope {
  any,
  inside_node,
  send_receive, // all-to-all, gather and scatter too
  network,      // whatever carries it
  socket,       // the data connections of NET/Socket
  infiniband,
  nvlink_between_nodes,
  from_the_gpu, // GPU-initiated networking, RMA
  plumbing,     // logs, plugins, checks
};

// What NCCL makes of an integer outside the limits.
enum class Outside {
  unchecked, // uses it as it is
  nearest,   // the nearest limit
  standard,  // its default
  on,        // as 1
  off,       // as 0
};

struct Limits {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Outside below = Outside::unchecked;
  Outside above = Outside::unchecked;
};

struct Variable {
  std::string_view name;
  ValueKind kind = ValueKind::text;
  Scope scope = Scope::any;
  int since = 0; // the first release that reads it; 0: 2.10.3 or an older one
  Limits limits{};
  std::string_view words{};     // "LOC|NVL|C2C@22602|SYS": C2C came with 2.26.2
  std::string_view otherwise{}; // what NCCL continues with for any other word; empty: its default
  int until = 0;                // the first release that does not read it any more; 0: all do
};

std::span<const Variable> nccl_variables();
const Variable* find_variable(std::string_view name);

// The words that this NCCL knows. 0: the newest one.
std::vector<std::string_view> legal_words(const Variable& variable, int version = 0);
// The release that brought a word; nothing for a word that none of them has.
std::optional<int> word_since(const Variable& variable, std::string_view word);
// As legal_words(), but with channels as many as this NCCL has.
Limits legal_numbers(const Variable& variable, int version = 0);

// True for a variable that acts only on data that crosses a network.
bool acts_on_network(Scope scope);

// How NCCL reads an integer: text that is no number becomes 0, without a warning, and what follows
// a number is not looked at.
struct IntegerReading {
  std::int64_t value = 0;
  bool whole = false; // the text is a number and nothing else
  bool fits = true;   // into 64 bits; if not, NCCL takes its default
};
IntegerReading read_integer(std::string_view text);
// True for a variable whose text is read that way, whatever it says.
bool reads_integer(const Variable& variable, int version = 0);
// True for an integer that NCCL does not document for the variable.
bool is_outside(const Variable& variable, std::int64_t value, int version = 0);

} // namespace ncclprobe::workload
