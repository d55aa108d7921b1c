// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Writes and reads any value whose type describes itself by fields() (fields.h) or enum_names(),
// and standard library types of these. A type with another representation overloads `void
// write_as(Writer&, const T&)` and `void read_as(Reader&, T&)` in its namespace.
namespace ncclprobe::base {

NCCLPROBE_FIELDS(Error, code, message, hint)

template <typename T>
concept Described = requires {
  fields(Of<T>{}, [](auto&&...) {});
};
template <typename T>
concept WrittenAs = requires(Writer& out, const T& value) {
  write_as(out, value);
};

template <typename T>
concept ReadAs = requires(Reader& in, T& value) {
  read_as(in, value);
};

template <typename T>
constexpr auto numbered_names() {
  constexpr auto names = enum_names(T{});
  std::array<EnumName, names.size()> all{};
  for (std::size_t i = 0; i < names.size(); ++i)
    all[i] = {static_cast<std::uint64_t>(names[i].first), names[i].second};
  return all;
}
template <typename T>
inline constexpr auto k_numbered_names = numbered_names<T>();

// A variant whose alternatives have names: `alternative_names(Of<Variant>)`, in its order.
template <typename T>
concept NamedAlternatives = requires {
  alternative_names(Of<T>{});
};
template <NamedAlternatives T>
inline constexpr auto k_alternatives = [] {
  constexpr auto names = alternative_names(Of<T>{});
  static_assert(names.size() == std::variant_size_v<T>);
  std::array<EnumName, names.size()> all{};
  for (std::size_t i = 0; i < names.size(); ++i)
    all[i] = {i, names[i]};
  return all;
}();

template <typename T>
void write_value(Writer& out, const T& value);
template <typename T>
void read_value(Reader& in, T& value);

// The fields alone, for a type whose fields are part of another object (a variant's alternatives).
template <Described T>
void write_fields(Writer& out, const T& value) {
  fields(Of<T>{}, [&](const char* name, auto member, auto... attributes) {
    if constexpr (k_has_attribute<Grown, decltype(attributes)...>) {
      static const T none{};
      if (out.has_names() && value.*member == none.*member)
        return;
    }
    out.key(name);
    write_value(out, value.*member);
  });
}

template <Described T>
void read_fields(Reader& in, T& value) {
  fields(Of<T>{}, [&](const char* name, auto member, auto... attributes) {
    constexpr bool k_may_be_missing = k_has_attribute<Grown, decltype(attributes)...> ||
                                      k_has_attribute<Lenient, decltype(attributes)...>;
    if (in.key(name, k_may_be_missing ? Reader::IfMissing::skip : Reader::IfMissing::refuse))
      read_value(in, value.*member);
  });
}

template <typename T>
void write_value(Writer& out, const std::vector<T>& values) {
  out.list(values.size());
  for (const T& value : values)
    write_value(out, value);
  out.end();
}

template <typename T>
void read_value(Reader& in, std::vector<T>& values) {
  values.clear();
  for (std::size_t left = in.list(); left > 0; --left) {
    in.element();
    read_value(in, values.emplace_back());
  }
  in.end();
}

// A list of pairs.
template <typename Key, typename T>
void write_value(Writer& out, const std::map<Key, T>& values) {
  out.list(values.size());
  for (const auto& [key, value] : values) {
    out.list(2);
    write_value(out, key);
    write_value(out, value);
    out.end();
  }
  out.end();
}

template <typename Key, typename T>
void read_value(Reader& in, std::map<Key, T>& values) {
  values.clear();
  for (std::size_t left = in.list(); left > 0; --left) {
    in.element();
    if (in.list() != 2)
      raise(Errc::protocol, "a pair has two values");
    Key key{};
    in.element();
    read_value(in, key);
    in.element();
    read_value(in, values[key]);
    in.end();
  }
  in.end();
}

template <typename T>
void write_value(Writer& out, const std::optional<T>& value) {
  out.optional(value.has_value());
  if (value)
    write_value(out, *value);
}

template <typename T>
void read_value(Reader& in, std::optional<T>& value) {
  value.reset();
  if (in.optional())
    read_value(in, value.emplace());
}

// Of a variant with names: its kind, and the fields of what it holds.
template <typename... Alternatives>
void write_fields(Writer& out, const std::variant<Alternatives...>& value) {
  out.key("kind");
  out.choice(value.index(), k_alternatives<std::variant<Alternatives...>>[value.index()].name);
  std::visit([&](const auto& what) { write_fields(out, what); }, value);
}

template <typename... Alternatives>
void read_fields(Reader& in, std::variant<Alternatives...>& value) {
  in.key("kind", Reader::IfMissing::refuse);
  const std::uint64_t kind = in.choice(k_alternatives<std::variant<Alternatives...>>);
  std::uint64_t index = 0;
  ((index++ == kind ? read_fields(in, value.template emplace<Alternatives>()) : void()), ...);
}

template <typename... Alternatives>
void write_value(Writer& out, const std::variant<Alternatives...>& value) {
  out.object();
  if constexpr (NamedAlternatives<std::variant<Alternatives...>>) {
    write_fields(out, value);
  } else {
    out.key("alternative");
    out.natural(value.index());
    out.key("value");
    std::visit([&](const auto& what) { write_value(out, what); }, value);
  }
  out.end();
}

template <typename... Alternatives>
void read_value(Reader& in, std::variant<Alternatives...>& value) {
  in.object();
  if constexpr (NamedAlternatives<std::variant<Alternatives...>>) {
    read_fields(in, value);
  } else {
    in.key("alternative", Reader::IfMissing::refuse);
    const std::uint64_t number = in.natural();
    in.key("value", Reader::IfMissing::refuse);
    std::uint64_t index = 0;
    if (!((index++ == number && (read_value(in, value.template emplace<Alternatives>()), true)) ||
          ...))
      raise(Errc::protocol, "there is no alternative {}", number);
  }
  in.end();
}

template <typename T>
void write_value(Writer& out, const T& value) {
  if constexpr (WrittenAs<T>) {
    write_as(out, value);
  } else if constexpr (Described<T>) {
    out.object();
    write_fields(out, value);
    out.end();
  } else if constexpr (std::is_same_v<T, bool>) {
    out.boolean(value);
  } else if constexpr (std::is_enum_v<T>) {
    out.choice(static_cast<std::uint64_t>(value), to_string(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    out.real(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    out.natural(value);
  } else if constexpr (std::is_integral_v<T>) {
    out.integer(value);
  } else {
    out.text(value);
  }
}

template <typename T>
void read_value(Reader& in, T& value) {
  auto fitting = [](auto number) {
    if (!std::in_range<T>(number))
      raise(Errc::protocol, "{} is too large for this field", number);
    return static_cast<T>(number);
  };
  if constexpr (ReadAs<T>) {
    read_as(in, value);
  } else if constexpr (Described<T>) {
    in.object();
    read_fields(in, value);
    in.end();
  } else if constexpr (std::is_same_v<T, bool>) {
    value = in.boolean();
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(in.choice(k_numbered_names<T>));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = in.real();
  } else if constexpr (std::is_unsigned_v<T>) {
    value = fitting(in.natural());
  } else if constexpr (std::is_integral_v<T>) {
    value = fitting(in.integer());
  } else {
    value = in.text();
  }
}

} // namespace ncclprobe::base
