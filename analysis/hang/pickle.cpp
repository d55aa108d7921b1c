// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/pickle.h"

#include "base/document_limits.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

namespace ncclprobe::analysis::hang {
namespace {

constexpr std::size_t k_most_values = 8'000'000; // a dump of 20,000 entries has about as many

// Opcodes by which a pickle runs code, makes objects, or needs data from elsewhere.
constexpr std::array<std::pair<unsigned char, const char*>, 16> k_refused{
    {{'c', "GLOBAL"},
     {0x93, "STACK_GLOBAL"},
     {'R', "REDUCE"},
     {'b', "BUILD"},
     {'i', "INST"},
     {'o', "OBJ"},
     {0x81, "NEWOBJ"},
     {0x92, "NEWOBJ_EX"},
     {'P', "PERSID"},
     {'Q', "BINPERSID"},
     {0x82, "EXT1"},
     {0x83, "EXT2"},
     {0x84, "EXT4"},
     {0x97, "NEXT_BUFFER"},
     {0x98, "READONLY_BUFFER"},
     {0x96, "BYTEARRAY8"}}};

} // namespace

// The stack machine of the format, as pickletools documents it.
class Pickle::Machine {
public:
  Machine(Pickle& into, const std::string& name) : into_(into), name_(name) {}

  Result<void> run() {
    while (!stopped_) {
      const std::size_t at = at_;
      if (at_ >= into_.bytes_.size())
        return trouble("it ends too early");
      opcode_ = static_cast<unsigned char>(into_.bytes_[at_++]);
      const bool is_known = step();
      if (is_known && problem_ == nullptr)
        continue;
      at_ = at;
      return trouble(is_known ? problem_ : refusal());
    }
    return {};
  }

private:
  tl::unexpected<Error> trouble(const std::string& what) const {
    return fail(Errc::protocol, "{} is not a pickle of plain data: byte {}: {}", name_, at_, what);
  }
  std::string refusal() const {
    for (const auto& [code, opcode] : k_refused)
      if (code == opcode_)
        return fmt::format("{} is refused, because it is not plain data", opcode);
    return fmt::format("{:#04x} is not an opcode of protocols 2 to 5", opcode_);
  }
  // All of these note the first problem, and then do nothing useful.
  void problem(const char* what) {
    if (problem_ == nullptr)
      problem_ = what;
  }
  std::uint64_t number(std::size_t bytes) { // little-endian
    if (into_.bytes_.size() - at_ < bytes) {
      problem("it ends too early");
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(into_.bytes_[at_ + i])} << (8 * i);
    at_ += bytes;
    return value;
  }
  void push(Node node) {
    if (into_.nodes_.size() >= k_most_values)
      return problem("it has too many values");
    into_.nodes_.push_back(node);
    push_value(static_cast<std::uint32_t>(into_.nodes_.size() - 1));
  }
  void push_value(std::uint32_t node) {
    if (stack_.size() >= k_most_values)
      return problem("it has too many values");
    stack_.push_back(node);
  }
  void push_integer(std::uint64_t value, std::size_t bytes) { // two's complement
    if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0)
      value |= ~std::uint64_t{0} << (8 * bytes);
    push({Kind::integer, 0, value});
  }
  void push_long(std::uint64_t bytes) {
    if (bytes > 8)
      return problem("a whole number of more than 64 bits");
    push_integer(number(bytes), bytes);
  }
  void push_text(std::uint64_t length) {
    if (length > into_.bytes_.size() - at_ || length > std::numeric_limits<std::uint32_t>::max())
      return problem("it ends too early");
    push({Kind::text, static_cast<std::uint32_t>(length), at_});
    at_ += length;
  }
  void push_list(Kind kind, std::vector<std::uint32_t> items) {
    if (kind == Kind::dict && items.size() % 2 != 0)
      return problem("a key without a value");
    into_.lists_.push_back(std::move(items));
    push({kind, static_cast<std::uint32_t>(into_.lists_.size() - 1), 0});
  }
  // The last values of the stack, above its newest mark.
  std::vector<std::uint32_t> take(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) {
      problem("its stack is empty");
      return {};
    }
    const auto from = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<std::uint32_t> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    return items;
  }
  std::vector<std::uint32_t> take_to_mark() {
    if (marks_.empty()) {
      problem("a mark is missing");
      return {};
    }
    std::vector<std::uint32_t> items = take(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }
  void extend(Kind kind, const std::vector<std::uint32_t>& items) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (problem_ != nullptr)
      return;
    if (stack_.size() <= floor || into_.nodes_[stack_.back()].kind != kind)
      return problem("values for something that holds none");
    if (kind == Kind::dict && items.size() % 2 != 0)
      return problem("a key without a value");
    std::vector<std::uint32_t>& list = into_.lists_[into_.nodes_[stack_.back()].length];
    list.insert(list.end(), items.begin(), items.end());
  }
  void remember(std::uint64_t key) {
    if (stack_.empty())
      return problem("its stack is empty");
    if (memo_.size() >= k_most_values)
      return problem("it has too many values");
    memo_[key] = stack_.back();
  }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end())
      return problem("it recalls what it has not remembered");
    push_value(found->second);
  }

  bool step();
  bool step_of_containers();

  Pickle& into_;
  const std::string& name_;
  std::size_t at_ = 0;
  unsigned char opcode_ = 0;
  bool stopped_ = false;
  const char* problem_ = nullptr;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_; // sizes of the stack
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

// False: an opcode that is refused, or unknown.
bool Pickle::Machine::step() {
  switch (opcode_) {
  case 0x80: // PROTO
    if (const std::uint64_t protocol = number(1); protocol < 2 || protocol > 5)
      problem("a protocol other than 2 to 5");
    return true;
  case 0x95: // FRAME
    (void)number(8);
    return true;
  case '.': // STOP
    stopped_ = true;
    if (const auto values = take(1); !values.empty())
      into_.root_ = values.front();
    return true;
  case 'N': // NONE
    push_value(0);
    return true;
  case 0x88: // NEWTRUE
  case 0x89: // NEWFALSE
    push({Kind::boolean, 0, opcode_ == 0x88 ? 1u : 0u});
    return true;
  case 'J': // BININT
    push_integer(number(4), 4);
    return true;
  case 'K': // BININT1
    push({Kind::integer, 0, number(1)});
    return true;
  case 'M': // BININT2
    push({Kind::integer, 0, number(2)});
    return true;
  case 0x8a: // LONG1
    push_long(number(1));
    return true;
  case 0x8b: // LONG4
    push_long(number(4));
    return true;
  case 'G': // BINFLOAT: big-endian, and read by nobody
    push({Kind::real, 0, number(8)});
    return true;
  case 'X': // BINUNICODE
  case 'B': // BINBYTES
  case 'T': // BINSTRING
    push_text(number(4));
    return true;
  case 0x8c: // SHORT_BINUNICODE
  case 'C':  // SHORT_BINBYTES
  case 'U':  // SHORT_BINSTRING
    push_text(number(1));
    return true;
  case 0x8d: // BINUNICODE8
  case 0x8e: // BINBYTES8
    push_text(number(8));
    return true;
  default:
    return step_of_containers();
  }
}

bool Pickle::Machine::step_of_containers() {
  switch (opcode_) {
  case ']':  // EMPTY_LIST
  case ')':  // EMPTY_TUPLE
  case 0x8f: // EMPTY_SET
    push_list(Kind::list, {});
    return true;
  case '}': // EMPTY_DICT
    push_list(Kind::dict, {});
    return true;
  case 'a': { // APPEND
    const auto items = take(1);
    extend(Kind::list, items);
    return true;
  }
  case 'e':    // APPENDS
  case 0x90: { // ADDITEMS
    const auto items = take_to_mark();
    extend(Kind::list, items);
    return true;
  }
  case 's': { // SETITEM
    const auto items = take(2);
    extend(Kind::dict, items);
    return true;
  }
  case 'u': { // SETITEMS
    const auto items = take_to_mark();
    extend(Kind::dict, items);
    return true;
  }
  case 'l':  // LIST
  case 't':  // TUPLE
  case 0x91: // FROZENSET
    push_list(Kind::list, take_to_mark());
    return true;
  case 'd': // DICT
    push_list(Kind::dict, take_to_mark());
    return true;
  case 0x85: // TUPLE1
  case 0x86: // TUPLE2
  case 0x87: // TUPLE3
    push_list(Kind::list, take(opcode_ - 0x84u));
    return true;
  case '(': // MARK
    if (marks_.size() >= base::k_most_levels)
      problem("it has too many levels");
    marks_.push_back(stack_.size());
    return true;
  case '0': // POP
    (void)take(1);
    return true;
  case '1': // POP_MARK
    (void)take_to_mark();
    return true;
  case '2': // DUP
    if (const auto values = take(1); !values.empty())
      for (int twice = 0; twice < 2; ++twice)
        push_value(values.front());
    return true;
  case 'q': // BINPUT
    remember(number(1));
    return true;
  case 'r': // LONG_BINPUT
    remember(number(4));
    return true;
  case 0x94: // MEMOIZE
    remember(memo_.size());
    return true;
  case 'h': // BINGET
    recall(number(1));
    return true;
  case 'j': // LONG_BINGET
    recall(number(4));
    return true;
  default:
    return false;
  }
}

Result<Pickle> Pickle::parse(std::string bytes, const std::string& name) {
  Pickle pickle;
  pickle.bytes_ = std::move(bytes);
  NCCLPROBE_TRY(Machine(pickle, name).run());
  return pickle;
}

bool Pickle::Ref::is_none() const {
  return of_->nodes_[number_].kind == Kind::none;
}

std::optional<bool> Pickle::Ref::boolean() const {
  const Node& node = of_->nodes_[number_];
  return node.kind == Kind::boolean ? std::optional(node.value != 0) : std::nullopt;
}

std::optional<std::int64_t> Pickle::Ref::integer() const {
  const Node& node = of_->nodes_[number_];
  return node.kind == Kind::integer ? std::optional(static_cast<std::int64_t>(node.value))
                                    : std::nullopt;
}

std::optional<std::string_view> Pickle::Ref::text() const {
  const Node& node = of_->nodes_[number_];
  if (node.kind != Kind::text)
    return std::nullopt;
  return std::string_view(of_->bytes_).substr(node.value, node.length);
}

bool Pickle::Ref::is_list() const {
  return of_->nodes_[number_].kind == Kind::list;
}

bool Pickle::Ref::is_dict() const {
  return of_->nodes_[number_].kind == Kind::dict;
}

std::size_t Pickle::Ref::size() const {
  if (!is_list() && !is_dict())
    return 0;
  return of_->lists_[of_->nodes_[number_].length].size() / (is_dict() ? 2 : 1);
}

Pickle::Ref Pickle::Ref::item(std::size_t at) const {
  if (at >= size())
    return {*of_, 0};
  return {*of_, of_->lists_[of_->nodes_[number_].length][is_dict() ? 2 * at + 1 : at]};
}

Pickle::Ref Pickle::Ref::key(std::size_t at) const {
  if (!is_dict() || at >= size())
    return {*of_, 0};
  return {*of_, of_->lists_[of_->nodes_[number_].length][2 * at]};
}

Pickle::Ref Pickle::Ref::field(std::string_view name) const {
  for (std::size_t at = is_dict() ? size() : 0; at > 0; --at)
    if (key(at - 1).text() == name)
      return item(at - 1);
  return {*of_, 0};
}

} // namespace ncclprobe::analysis::hang
