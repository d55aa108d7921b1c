// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

// What is known of the environment variables that NCCL reads.
namespace ncclprobe::workload {

enum class ValueKind {
  boolean,    // 0 or 1, read as an integer
  integer,    // read by strtoll with base 0: hexadecimal and octal too
  level,      // a word of `words`, case-sensitive, or a small number; other words are ignored
  word,       // one of `words`
  algorithms, // the list of NCCL_ALGO
  protocols,  // the list of NCCL_PROTO
  text,       // names, paths, lists
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

struct ValueRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
inline constexpr ValueRange k_any_value;

struct Variable {
  std::string_view name;
  ValueKind kind = ValueKind::text;
  Scope scope = Scope::any;
  ValueRange range = {};       // integer; NCCL clamps most of what is outside
  std::string_view words = {}; // level and word: "LOC|NVL|SYS"
};

struct RetiredVariable {
  std::string_view name;
  std::string_view replacement; // what comes nearest to it today
};

std::span<const Variable> nccl_variables();

const Variable* find_variable(std::string_view name);
const RetiredVariable* find_retired_variable(std::string_view name);

// The known name that was probably meant: the fewest edits, of several the one that begins alike.
// Nothing if none is near.
std::optional<std::string_view> nearest_variable(std::string_view name);

// True if `word` is one of "A|B|C".
bool is_word_of(std::string_view words, std::string_view word);

// True for a variable that acts only on data that crosses a network.
bool acts_on_network(Scope scope);

// How NCCL reads an integer: text that is no number becomes 0, without a warning, and what follows
// a number is not looked at.
struct IntegerReading {
  std::int64_t value = 0;
  bool whole = false; // the text is a number and nothing else
};
IntegerReading read_integer(std::string_view text);
// True for a variable whose text is read that way, whatever it says.
bool reads_integer(const Variable& variable);
// True for an integer that NCCL does not document for the variable.
bool is_outside(const Variable& variable, std::int64_t value);

} // namespace ncclprobe::workload
