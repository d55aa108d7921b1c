// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/json_document.h"

#include "base/document_limits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace ncclprobe::base {
namespace {

using nlohmann::json;

class JsonWriter final : public Writer {
public:
  bool has_names() const override { return true; }
  void boolean(bool value) override { place() = value; }
  void integer(std::int64_t value) override { place() = value; }
  void natural(std::uint64_t value) override { place() = value; }
  void real(double value) override { place() = value; }
  void text(std::string_view value) override { place() = value; }
  void choice(std::uint64_t, std::string_view name) override { place() = name; }
  void optional(bool present) override {
    if (!present)
      place() = nullptr;
  }
  void list(std::size_t size) override {
    json& list = place();
    list = json::array();
    list.get_ref<json::array_t&>().reserve(size);
    open_.push_back(&list);
  }
  void object() override {
    json& object = place();
    object = json::object();
    open_.push_back(&object);
  }
  void key(const char* name) override { key_ = name; }
  void end() override { open_.pop_back(); }
  json take() { return std::move(root_); }

private:
  // The place of the next value. Open containers do not move, because only the innermost grows.
  json& place() {
    if (open_.empty())
      return root_;
    json& parent = *open_.back();
    return parent.is_array() ? parent.emplace_back() : parent[key_];
  }

  json root_;
  std::vector<json*> open_;
  const char* key_ = "";
};

class JsonReader final : public Reader {
public:
  explicit JsonReader(const json& root) : at_(&root) {}

  bool has_names() const override { return true; }
  bool boolean() override {
    expect(at_->is_boolean(), "boolean");
    return at_->get<bool>();
  }
  std::int64_t integer() override { return number<std::int64_t>(); }
  std::uint64_t natural() override { return number<std::uint64_t>(); }
  double real() override {
    expect(at_->is_number(), "number");
    return at_->get<double>();
  }
  std::string text() override {
    expect(at_->is_string(), "string");
    return at_->get<std::string>();
  }
  std::uint64_t choice(std::span<const EnumName> names) override {
    const std::string name = text();
    std::string known;
    for (const EnumName& one : names) {
      if (one.name == name)
        return one.number;
      known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    raise(Errc::protocol, "'{}' is not one of {}", name, known);
  }
  bool optional() override { return !at_->is_null(); }
  std::size_t list() override {
    expect(at_->is_array(), "array");
    open_.push_back({at_});
    return at_->size();
  }
  void element() override {
    Open& list = open_.back();
    at_ = &list.value->at(list.next++);
  }
  void object() override {
    expect(at_->is_object(), "object");
    open_.push_back({at_});
  }
  bool key(const char* name, IfMissing missing) override {
    Open& object = open_.back();
    auto found = object.value->find(name);
    object.key = nullptr;
    if (found == object.value->end() || (missing == IfMissing::skip && found->is_null())) {
      if (missing == IfMissing::refuse)
        raise(Errc::protocol, "key '{}' not found", name);
      return false;
    }
    object.key = name;
    at_ = &*found;
    return true;
  }
  void end() override { open_.pop_back(); }
  bool is_object() const override { return at_->is_object(); }

  // The JSON pointer of the current value.
  std::string element_name() const {
    std::string pointer;
    for (const Open& one : open_) {
      if (one.key != nullptr)
        pointer += fmt::format("/{}", one.key);
      else if (one.next > 0)
        pointer += fmt::format("/{}", one.next - 1);
    }
    return pointer;
  }

private:
  struct Open {
    const json* value;
    std::size_t next = 0;      // of a list
    const char* key = nullptr; // of an object
  };

  void expect(bool fits, const char* type) const {
    if (!fits)
      raise(Errc::protocol, "type must be {}, but is {}", type, at_->type_name());
  }
  template <typename T>
  T number() {
    expect(at_->is_number(), "number");
    const bool fits = at_->is_number_unsigned()  ? std::in_range<T>(at_->get<std::uint64_t>())
                      : at_->is_number_integer() ? std::in_range<T>(at_->get<std::int64_t>())
                                                 : false;
    if (!fits)
      raise(Errc::protocol, "the number {} is out of range", at_->dump());
    return at_->get<T>();
  }

  const json* at_;
  std::vector<Open> open_;
};

// The library's own message, without "[json.exception.parse_error.101] ".
std::string words_of(const json::exception& error) {
  std::string_view words = error.what();
  return std::string(words.substr(std::min(words.find("] ") + 2, words.size())));
}

template <typename Parse>
Result<void> read_parsed(Parse parse, Readable value, JsonPlace* place) {
  json tree;
  try {
    tree = parse();
  } catch (const json::parse_error& error) {
    if (place != nullptr)
      place->byte = error.byte;
    return fail(Errc::protocol, "{}", words_of(error));
  } catch (const json::exception& error) { // a number outside the range of double
    return fail(Errc::protocol, "{}", words_of(error));
  }
  return read_json_tree(tree, value, place);
}

} // namespace

nlohmann::json json_tree(Writable value) {
  JsonWriter writer;
  value.write(writer, value.value);
  return writer.take();
}

std::string json_text(Writable value, int indent) {
  return json_tree(value).dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string json_or_cbor(Writable value) {
  json tree = json_tree(value);
  try {
    return tree.dump();
  } catch (const json::type_error&) {
    std::string bytes;
    json::to_cbor(tree, bytes);
    return bytes;
  }
}

Result<void> read_json_tree(const json& tree, Readable value, JsonPlace* place) {
  JsonReader reader(tree);
  try {
    value.read(reader, value.value);
    return {};
  } catch (const Exception& error) {
    std::string where = reader.element_name();
    if (place != nullptr)
      place->element = where;
    else if (!where.empty())
      return with_context(error.error(), where);
    return fail(error.error());
  }
}

Result<void> read_json(std::string_view text, Readable value, JsonPlace* place) {
  return read_parsed([&] { return json::parse(text); }, value, place);
}

Result<void> read_json_or_cbor(std::string_view bytes, Readable value) {
  const bool is_text =
      bytes.starts_with('{') || bytes.starts_with('['); // not the start of a list or object in CBOR
  NCCLPROBE_TRY(is_text ? check_json_limits(bytes, "it") : check_cbor_limits(bytes, "it"));
  return read_parsed([&] { return is_text ? json::parse(bytes) : json::from_cbor(bytes); }, value,
                     nullptr);
}

} // namespace ncclprobe::base
