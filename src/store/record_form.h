// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/described.h"
#include "store/stored_value.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// How records are stored in tables, derived from the fields that their types describe
// (base/fields.h):
//
// - a number, text, enumeration or list of ranks is a column;
// - a described member becomes the columns of its fields, "member_field";
// - a list of described elements is a table. Its first column is the row of the record that
//   has them: the column "trial" in /workers. Two lists of one record can share a table if they
//   have the same length: each adds its columns;
// - a variant whose alternatives have names becomes one table per alternative,
//   "<name>_<table>"; a record has a row in one of these;
// - everything else is a column of documents: JSON, or CBOR if a text in it is not UTF-8.
//
// A form contains no types, so code for tables is compiled once.
namespace ncclprobe::store {

struct ColumnForm {
  // Of `parent`: rows of the parent's table; of `texts`: rows of /strings.
  enum class Holds { numbers, texts, parent };

  std::string name;
  std::string about;
  Number number = Number::u8;
  Holds holds = Holds::numbers;
  std::vector<std::string> labels;      // labels of an enumeration, by number
  std::optional<std::uint64_t> missing; // the number for an absent value, as its bits
  bool may_be_absent = false; // added in a later version: if absent, values are as `sample`
  const void* sample = nullptr;
  StoreValues store = nullptr;
  LoadValues load = nullptr;
};

struct TableForm {
  std::string name;
  std::string about;
  enum class Size { one_row, any };
  Size size = Size::any;
  std::optional<std::size_t> parent; // precedes it; its rows are the first column. Without
                                     // a parent, all rows belong to one record.
  std::vector<ColumnForm> columns;
  bool may_be_absent = false; // if absent, it has no rows
};

struct LeafForm {
  std::size_t column = 0;
  std::size_t offset = 0; // in its record
};

struct ListForm;

struct RecordForm {
  std::size_t bytes = 0; // from one record of a list to the next
  std::vector<LeafForm> leaves;
  std::vector<ListForm> lists;
};

struct ListForm {
  std::size_t table = 0;
  std::size_t offset = 0; // of the list, in its record
  std::size_t (*size)(const void* list) = nullptr;
  const void* (*data)(const void* list) = nullptr;
  void* (*resize)(void* list, std::size_t size) = nullptr; // returns the first element
  bool is_alternative = false; // of a variant: one of them has one element, the others none
  RecordForm element;
};

// Makes the forms of records whose tables are in one file.
class FormMaker {
public:
  explicit FormMaker(std::vector<TableForm>& tables) : tables_(&tables) {}

  // Adds the table of this name and those of the lists in its records.
  template <base::Described T>
  RecordForm make(const char* name, const char* about, TableForm::Size size) {
    tables_->push_back({.name = name, .about = about, .size = size, .parent = {}, .columns = {}});
    return record<T>(tables_->size() - 1);
  }

private:
  template <typename T>
  struct IsList : std::false_type {};
  template <base::Described T>
  struct IsList<std::vector<T>> : std::true_type {};

  template <typename T>
  RecordForm record(std::size_t table) {
    RecordForm form{.bytes = sizeof(T), .leaves = {}, .lists = {}};
    add_fields<T>(form, table, "", 0);
    return form;
  }

  template <typename T>
  void add_fields(RecordForm& form, std::size_t table, const std::string& prefix,
                  std::size_t offset) {
    fields(base::Of<T>{}, [&](const char* name, auto member, auto... attributes) {
      using Member = std::remove_cvref_t<decltype(std::declval<T&>().*member)>;
      using Attributes = decltype(std::tuple(attributes...));
      static const T sample{};
      const std::size_t at =
          offset + static_cast<std::size_t>(reinterpret_cast<const char*>(&(sample.*member)) -
                                            reinterpret_cast<const char*>(&sample));
      const char* about = base::attribute_or(base::About{""}, attributes...).text;
      constexpr bool k_came_later = has<base::Grown, Attributes>;
      if constexpr (IsList<Member>::value) {
        const char* rows = base::attribute_or(base::Rows{name}, attributes...).table;
        add_list<typename Member::value_type>(form, table, rows, about, at, k_came_later);
      } else if constexpr (base::NamedAlternatives<Member>) {
        add_alternatives<Member>(form, table, about, at);
      } else if constexpr (base::Described<Member> && !has<base::Whole, Attributes>) {
        add_fields<Member>(form, table, has<base::Flat, Attributes> ? prefix : prefix + name + "_",
                           at);
      } else {
        add_leaf(form, table, prefix + name, about, at, sample.*member, k_came_later);
      }
    });
  }

  template <typename Wanted, typename Attributes>
  struct Has;
  template <typename Wanted, typename... Attributes>
  struct Has<Wanted, std::tuple<Attributes...>> {
    static constexpr bool value = base::k_has_attribute<Wanted, Attributes...>;
  };
  template <typename Wanted, typename Attributes>
  static constexpr bool has = Has<Wanted, Attributes>::value;

  template <typename T>
  void add_leaf(RecordForm& form, std::size_t table, std::string name, const char* about,
                std::size_t offset, const T& sample, bool came_later) {
    std::vector<ColumnForm>& columns = (*tables_)[table].columns;
    form.leaves.push_back({columns.size(), offset});
    columns.push_back(
        {.name = std::move(name),
         .about = about,
         .number = number_of<StoredAs<T>>(),
         .holds = k_is_text<T> ? ColumnForm::Holds::texts : ColumnForm::Holds::numbers,
         .labels = labels_of<T>(),
         .missing = missing_bits<T>(),
         .may_be_absent = came_later,
         .sample = &sample,
         .store = store_values<T>,
         .load = load_values<T>});
  }

  template <typename T>
  void add_list(RecordForm& form, std::size_t parent, const char* name, const char* about,
                std::size_t offset, bool came_later) {
    ListForm list{.table = table_of_list(parent, name, about, came_later),
                  .offset = offset,
                  .size = [](const void* all) { return list_at<T>(all).size(); },
                  .data = [](const void* all) -> const void* { return list_at<T>(all).data(); },
                  .resize = [](void* all, std::size_t size) -> void* {
                    auto& values = *static_cast<std::vector<T>*>(all);
                    values.resize(size);
                    return values.data();
                  },
                  .element = {}};
    list.element = record<T>(list.table);
    form.lists.push_back(std::move(list));
  }
  template <typename T>
  static const std::vector<T>& list_at(const void* list) {
    return *static_cast<const std::vector<T>*>(list);
  }

  template <typename Variant, std::size_t Index = 0>
  void add_alternatives(RecordForm& form, std::size_t parent, const char* about,
                        std::size_t offset) {
    const std::string name =
        fmt::format("{}_{}", base::k_alternatives<Variant>[Index].name, (*tables_)[parent].name);
    ListForm list{.table = table_of_list(parent, name, about, false),
                  .offset = offset,
                  .size = [](const void* at) -> std::size_t {
                    return variant_at<Variant>(at).index() == Index;
                  },
                  .data = [](const void* at) -> const void* {
                    const auto* held = std::get_if<Index>(&variant_at<Variant>(at));
                    return held ? held : at;
                  },
                  .resize = [](void* at, std::size_t size) -> void* {
                    return size == 0 ? at : &static_cast<Variant*>(at)->template emplace<Index>();
                  },
                  .is_alternative = true,
                  .element = {}};
    list.element = record<std::variant_alternative_t<Index, Variant>>(list.table);
    form.lists.push_back(std::move(list));
    if constexpr (Index + 1 < std::variant_size_v<Variant>)
      add_alternatives<Variant, Index + 1>(form, parent, about, offset);
  }
  template <typename Variant>
  static const Variant& variant_at(const void* variant) {
    return *static_cast<const Variant*>(variant);
  }

  std::size_t table_of_list(std::size_t parent, const std::string& name, const char* about,
                            bool came_later);

  std::vector<TableForm>* tables_;
};

} // namespace ncclprobe::store
