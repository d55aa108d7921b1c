// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

// How a type describes itself to documents: an overload fields(Of<Type>, visit) calls visit(name,
// &Type::member, attributes...) once per member. JSON and messages follow from it (described.h). It
// is a template instead of a list because widely included headers contain it, and an unused
// template costs the compiler nothing.
//
// Attributes are values of any type; a visitor selects those that it knows by type.
namespace ncclprobe::base {

template <typename Type>
struct Of {};

// Documents of other versions may lack the field, or have null for it; it then has its default.
struct Lenient {};
inline constexpr Lenient lenient;
// Like lenient, and also omitted while it has its default. Older documents, and hashes of them,
// stay the same.
struct Grown {};
inline constexpr Grown grown;

// How a table (store/record_form.h) shows the member.
// What its values mean, with their unit.
struct About {
  const char* text;
};
// Its members are columns without its name in front of theirs.
struct Flat {};
inline constexpr Flat flat;
// It is one column of documents, although it has fields.
struct Whole {};
inline constexpr Whole whole;
// Name of the table of its elements; without this it is the member's.
struct Rows {
  const char* table;
};

template <typename Wanted, typename... Attributes>
inline constexpr bool k_has_attribute = (std::is_same_v<Wanted, Attributes> || ...);
template <typename Wanted, typename... Attributes>
constexpr Wanted attribute_or(Wanted wanted, Attributes... attributes) {
  [[maybe_unused]] auto take = [&](auto attribute) {
    if constexpr (std::is_same_v<Wanted, decltype(attribute)>)
      wanted = attribute;
  };
  (take(attributes), ...);
  return wanted;
}

} // namespace ncclprobe::base

// NCCLPROBE_FIELDS(Type, a, b): all named members must be in a document.
// NCCLPROBE_LENIENT_FIELDS(Type, a, b): each may be missing.
// NCCLPROBE_PARTLY_LENIENT_FIELDS(Type, (a, b), (c)): c may be missing.
// NCCLPROBE_GROWN_FIELDS(Type, (a, b), (c)): c was added later.
// NCCLPROBE_DESCRIBE(Type, NCCLPROBE_EACH(KIND, a, b), ...): any mix; NCCLPROBE_KIND(name) is the
// call of visit.
// NCCLPROBE_DESCRIBE(Type, NCCLPROBE_COLUMN(a, "what it means", attributes...), ...): for tables.
#define NCCLPROBE_FIELDS(Type, ...) NCCLPROBE_DESCRIBE(Type, NCCLPROBE_EACH(REQUIRED, __VA_ARGS__))
#define NCCLPROBE_LENIENT_FIELDS(Type, ...)                                                        \
  NCCLPROBE_DESCRIBE(Type, NCCLPROBE_EACH(LENIENT, __VA_ARGS__))
#define NCCLPROBE_PARTLY_LENIENT_FIELDS(Type, first, lenient)                                      \
  NCCLPROBE_DESCRIBE(Type, NCCLPROBE_EACH(REQUIRED, NCCLPROBE_LIST first),                         \
                     NCCLPROBE_EACH(LENIENT, NCCLPROBE_LIST lenient))
#define NCCLPROBE_GROWN_FIELDS(Type, first, later)                                                 \
  NCCLPROBE_DESCRIBE(Type, NCCLPROBE_EACH(REQUIRED, NCCLPROBE_LIST first),                         \
                     NCCLPROBE_EACH(GROWN, NCCLPROBE_LIST later))

#define NCCLPROBE_DESCRIBE(Type, ...)                                                              \
  template <typename Visit>                                                                        \
  constexpr void fields(::ncclprobe::base::Of<Type>, [[maybe_unused]] Visit&& visit) {             \
    using Described [[maybe_unused]] = Type;                                                       \
    NCCLPROBE_EACH(AS_IT_IS, __VA_ARGS__)                                                          \
  }
#define NCCLPROBE_AS_IT_IS(visits) visits
#define NCCLPROBE_REQUIRED(name) visit(#name, &Described::name);
#define NCCLPROBE_LENIENT(name) visit(#name, &Described::name, ::ncclprobe::base::lenient);
#define NCCLPROBE_GROWN(name) visit(#name, &Described::name, ::ncclprobe::base::grown);
#define NCCLPROBE_COLUMN(name, about, ...)                                                         \
  visit(#name, &Described::name, ::ncclprobe::base::About{about} __VA_OPT__(, ) __VA_ARGS__);
#define NCCLPROBE_LIST(...) __VA_ARGS__

// NCCLPROBE_EACH(KIND, a, b) is NCCLPROBE_KIND(a) NCCLPROBE_KIND(b); up to 64 names. A macro cannot
// call itself, so each scan expands one more step.
#define NCCLPROBE_EACH(kind, ...) __VA_OPT__(NCCLPROBE_SCAN64(NCCLPROBE_STEP(kind, __VA_ARGS__)))
#define NCCLPROBE_STEP(kind, name, ...)                                                            \
  NCCLPROBE_##kind(name) __VA_OPT__(NCCLPROBE_NEXT NCCLPROBE_CALL(kind, __VA_ARGS__))
#define NCCLPROBE_NEXT() NCCLPROBE_STEP
#define NCCLPROBE_CALL ()
#define NCCLPROBE_SCAN64(...)                                                                      \
  NCCLPROBE_SCAN16(NCCLPROBE_SCAN16(NCCLPROBE_SCAN16(NCCLPROBE_SCAN16(__VA_ARGS__))))
#define NCCLPROBE_SCAN16(...)                                                                      \
  NCCLPROBE_SCAN4(NCCLPROBE_SCAN4(NCCLPROBE_SCAN4(NCCLPROBE_SCAN4(__VA_ARGS__))))
#define NCCLPROBE_SCAN4(...)                                                                       \
  NCCLPROBE_SCAN(NCCLPROBE_SCAN(NCCLPROBE_SCAN(NCCLPROBE_SCAN(__VA_ARGS__))))
#define NCCLPROBE_SCAN(...) __VA_ARGS__
