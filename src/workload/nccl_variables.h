// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/nccl_version.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The environment variables that NCCL reads, and their valid values.
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
  network_name, // one of `words` in any case, or a plugin's own name
  plugin,       // a library; `words` holds the prefixes of such libraries' names
  file,         // that NCCL opens
  interfaces,   // "eth0,ib", "^docker", "=eth1"
  address,      // host:port
  text,         // anything else
};
constexpr auto enum_names(ValueKind) {
  return std::to_array<std::pair<ValueKind, std::string_view>>(
      {{ValueKind::boolean, "boolean"},
       {ValueKind::integer, "integer"},
       {ValueKind::flag, "flag"},
       {ValueKind::level, "level"},
       {ValueKind::word, "word"},
       {ValueKind::any_case, "word"},
       {ValueKind::words, "words"},
       {ValueKind::algorithms, "algorithms"},
       {ValueKind::protocols, "protocols"},
       {ValueKind::network_name, "network"},
       {ValueKind::plugin, "plugin"},
       {ValueKind::file, "file"},
       {ValueKind::interfaces, "interfaces"},
       {ValueKind::address, "address"},
       {ValueKind::text, "text"}});
}

// Where a variable acts. It has no effect if that code path is not used.
enum class Scope {
  any,
  inside_node,
  send_receive, // all-to-all, gather and scatter too
  network,      // any transport
  socket,       // the data connections of NET/Socket
  infiniband,
  nvlink_between_nodes,
  from_the_gpu, // GPU-initiated networking, RMA
  plumbing,     // logs, plugins, checks
};
constexpr auto enum_names(Scope) {
  return std::to_array<std::pair<Scope, std::string_view>>(
      {{Scope::any, "everything"},
       {Scope::inside_node, "inside a node"},
       {Scope::send_receive, "send and receive"},
       {Scope::network, "any network"},
       {Scope::socket, "sockets"},
       {Scope::infiniband, "InfiniBand and RoCE"},
       {Scope::nvlink_between_nodes, "NVLink between nodes"},
       {Scope::from_the_gpu, "networking started by the GPU"},
       {Scope::plumbing, "logs, plugins and checks"}});
}

// How NCCL treats an integer outside the limits.
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
  std::string_view otherwise{}; // NCCL's value for any other word; empty: its default
  int until = 0;                // the first release that no longer reads it; 0: all do
};

std::span<const Variable> nccl_variables();
const Variable* find_variable(std::string_view name);
bool is_read_by(const Variable& variable, int version);

// The words that this NCCL knows. 0: the newest NCCL.
std::vector<std::string_view> legal_words(const Variable& variable, int version = 0);
// The release that introduced a word; nothing if no release has it.
std::optional<int> word_since(const Variable& variable, std::string_view word);
// Like legal_words(), with this NCCL's number of channels.
Limits legal_numbers(const Variable& variable, int version = 0);

// True for a variable that acts only on data that crosses a network.
bool acts_on_network(Scope scope);

// How NCCL reads an integer: text that is not a number becomes 0 without a warning, and text after
// a number is ignored.
struct IntegerReading {
  std::int64_t value = 0;
  bool whole = false; // the text is a number and nothing else
  bool fits = true;   // fits into 64 bits; otherwise NCCL uses its default
};
IntegerReading read_integer(std::string_view text);
// True for a variable that is always read that way.
bool reads_integer(const Variable& variable, int version = 0);
// True for an integer without a documented meaning for the variable.
bool is_outside(const Variable& variable, std::int64_t value, int version = 0);

} // namespace ncclprobe::workload
