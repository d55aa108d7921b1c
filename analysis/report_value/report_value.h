// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "base/described.h"
#include "base/enum_names.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// A report as data, complete before anything is printed. Sections say what to show, in order;
// `data` is for machines. Both show the same tables. The writers (report_writers.h) know nothing
// about the content: a writer that has to compute lacks a column.
namespace ncclprobe::analysis {

struct Table;
using TablePtr = std::shared_ptr<const Table>;
class Value;
using List = std::vector<Value>;
using Object = std::vector<std::pair<std::string, Value>>; // in the order in which they are written

// The value of a field. Made from the standard library's numbers and texts, and from enumerations
// with names; an absent optional is null. A table is the list of its rows.
class Value {
public:
  using Held = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                            List, Object, TablePtr>;

  Value() = default;
  template <typename T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Value>)
      Value(T&& value); // NOLINT(google-explicit-constructor): values are written in lists
  Value(std::nullptr_t) {}

  const Held& held() const { return held_; }
  bool is_null() const { return held_.index() == 0; }
  friend bool operator==(const Value&, const Value&) = default;

private:
  Held held_;
};

// How a table for people writes a value. The unit itself is in the column's title.
enum class Unit {
  plain,        // texts and counts
  size,         // bytes: "64K"
  number,       // two decimals; four below 0.01
  fixed,        // with this many decimals
  milliseconds, // five digits or fewer
  ratio,        // "1.05x"; more decimals if it would look like no difference
  chance,       // four decimals; "<0.0001"
  share,        // a part of 1, in percent, with this many decimals
  percent,      // the same as "30.6%"
  grouped,      // "12,000"
};
struct CellFormat {
  Unit unit = Unit::plain;
  int digits = 1;
};
// "-" for null; "low-high" for two values.
std::string shown(const Value& value, CellFormat format = {});

struct Column {
  std::string key;   // in JSON and CSV; empty: only for people
  std::string title; // for people; empty: only for machines
  CellFormat format;
  enum class Align { left, right } align = Align::right;
  // In a narrow window, columns with the highest number are dropped first; 0: never.
  int dispensable = 0;
  int width = 0;         // longer texts continue in lines below; 0: any
  bool if_any = false;   // not shown if no row has a value
  bool once = false;     // shown only when it changes; for the first columns
  bool nested = false;   // only in JSON: a field of CSV cannot hold it
  bool interval = false; // a list of two, which becomes two fields in CSV
  std::function<Value(std::size_t row)> value;
};

struct Table {
  std::size_t rows = 0;
  std::vector<Column> columns;
};

// Makes a table of rows of one type. A column takes a value from a row and computes nothing.
template <typename Row>
class TableOf {
public:
  // Sets how the column that was just added is shown.
  class Added {
  public:
    Added(Column& column) : column_(column) {}
    Added& titled(std::string title, CellFormat format = {}) {
      column_.title = std::move(title);
      column_.format = format;
      return *this;
    }
    Added& left(int width = 0) {
      column_.align = Column::Align::left;
      column_.width = width;
      return *this;
    }
    Added& dispensable(int rank) { return column_.dispensable = rank, *this; }
    Added& if_any() { return column_.if_any = true, *this; }
    Added& once() { return column_.once = true, *this; }
    Added& nested() { return column_.nested = true, *this; }
    Added& interval() { return column_.interval = true, *this; }

  private:
    Column& column_;
  };

  explicit TableOf(std::vector<Row> rows)
      : rows_(std::make_shared<const std::vector<Row>>(std::move(rows))),
        table_(std::make_shared<Table>()) {
    table_->rows = rows_->size();
  }

  // Valid until the next column is added.
  template <typename Get>
  Added add(std::string key, Get get) {
    Column column;
    column.key = std::move(key);
    column.value = [rows = rows_, get](std::size_t row) -> Value {
      return std::invoke(get, (*rows)[row]);
    };
    return Added(table_->columns.emplace_back(std::move(column)));
  }
  // For people only.
  template <typename Get>
  Added show(std::string title, Get get, CellFormat format = {}) {
    return add("", std::move(get)).titled(std::move(title), format);
  }
  template <typename Get>
  Added show_left(std::string title, Get get, int width = 0) {
    return show(std::move(title), std::move(get)).left(width);
  }
  // All fields of a row (base/fields.h), only for machines.
  void add_fields() {
    fields(base::Of<Row>{}, [&](const char* name, auto member, auto...) { add(name, member); });
  }

  // A column for each field of a member (base/fields.h).
  template <typename Part, typename Owner>
  void add_fields(Part Owner::*part) {
    fields(base::Of<Part>{}, [&](const char* name, auto field, auto...) {
      add(name, [=](const Row& row) { return row.*part.*field; });
    });
  }

  TablePtr table() const { return table_; }
  const std::vector<Row>& rows() const { return *rows_; }

private:
  std::shared_ptr<const std::vector<Row>> rows_;
  std::shared_ptr<Table> table_;
};

// Text after a label in the margin: "Trials       25: all ok". Further lines start `hang` columns
// in. A text that is useless when split, such as an address, is `whole`: it stays on one line.
struct Text {
  std::string label;
  std::string text;
  int hang = 0;
  bool whole = false;
};

// The part of a table that people see.
struct View {
  TablePtr table;
  std::optional<std::vector<std::size_t>> rows = std::nullopt; // absent: all
  // Titles, or keys of columns without one, in this order; none: all columns with a title.
  std::vector<std::string> columns = {};
  int indent = 2;
  std::size_t most_rows = SIZE_MAX;
};

// A warning or conclusion of a report. Each report has a closed set of kinds with one sentence
// each, in which "{name}" and "{name:.2f}" stand for values.
enum class Severity { note, warning, error };
struct FindingKind {
  std::string_view id;
  Severity severity = Severity::note;
  std::string_view sentence;
};
struct Finding {
  const FindingKind* kind = nullptr;
  Object values = {};
};
// Its sentence. Every value in the sentence must exist (else fmt::format_error).
std::string in_words(const Finding& finding);
std::string in_words(std::string_view sentence, const Object& values);
std::string in_words(const std::vector<Finding>& findings);
// Several findings in one paragraph, as a Text.
struct Findings {
  std::string label;
  std::vector<Finding> all;
  int hang = 0;
};

// Lines to copy, unchanged.
struct Code {
  std::vector<std::string> lines;
  int indent = 2;
};

// A picture of a table, for writers that can draw. The members after the table name its columns by
// key; these have a title too. An empty name: the chart does without.
enum class ChartKind {
  curve,    // y over x, a line for each series
  forest,   // a row for each x, named by y, under its series
  heat_map, // the value of a pair: y is the row, x the column
  bars,     // a bar for each y, of lengths x that lie end to end, one for each series
  spans,    // a line for each y, with a bar from and to each interval, coloured by series
  boxes,    // boxes in boxes and lines between them (analysis/topology_chart)
};
struct ReferenceLine {
  std::string name;
  double at = 0; // in units of y; forest: of x
};
struct Chart {
  ChartKind kind = ChartKind::curve;
  std::string title;
  TablePtr table;
  std::string x = {};
  std::string y = {};
  std::string series = {};
  std::string interval = {}; // around the value: [low, high]
  std::string points = {};   // curve: a list, the values that y is the middle of
  std::string state = {};    // forest: a verdict; heat_map: what is wrong with a cell
  std::string band = {};     // forest: [low, high], differences that mean nothing
  std::string value = {};    // heat_map
  std::vector<ReferenceLine> lines = {};
};

// What happened when on many lanes: more events than a table can have rows. Times count from any
// moment that all lanes share.
struct EventSum { // of the events in a stretch of time
  std::int64_t begin_ns = 0;
  std::int64_t length_ns = 0;
  std::vector<std::int64_t> busy_ns; // by kind
};
struct EventLane {
  std::string title;
  // Columns of equal length, in the order of the starts.
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> length_ns;
  std::vector<std::uint32_t> name; // index in EventChart::names
  // If not all events are here: sums of all, over stretches that follow each other.
  std::vector<EventSum> sums;
};
struct EventChart {
  std::string title;
  std::string note; // what it lacks; empty: nothing
  std::vector<std::string> kinds;
  std::vector<std::pair<std::string, std::size_t>> names; // with the index of their kind
  std::vector<EventLane> lanes;
};

using Block = std::variant<Text, View, Findings, Code>;
struct Section {
  // Where a writer with an order of its own shows it.
  enum class Part { answer, figures, failures, method, provenance };

  std::string key;
  std::string title = {}; // a line above the blocks; may be empty
  std::vector<Block> blocks = {};
  int hang = 0; // of the title's further lines
  Part part = Part::figures;
  std::vector<Chart> charts = {}; // of what the blocks say
  std::vector<EventChart> timelines = {};

  void add(std::string label, std::string text, int hang_of_text) {
    blocks.push_back(Text{std::move(label), std::move(text), hang_of_text});
  }
  // One below the other, with the label before the first.
  void add_each(std::string label, const std::vector<std::string>& texts, int hang_of_text,
                bool whole = false) {
    for (const std::string& one : texts)
      blocks.push_back(Text{std::exchange(label, ""), one, hang_of_text, whole});
  }
};

struct Report {
  std::string title = {};             // of a page; empty: that of the first section with a title
  std::vector<Section> sections = {}; // separated by empty lines; empty ones are omitted
  Object data = {};                   // for JSON, which also gets the findings of all sections
  TablePtr rows = nullptr;            // for CSV
  // Keeps alive what the tables' rows point to.
  std::vector<std::shared_ptr<const void>> figures = {};
};
// Appends the sections and data of a part.
void append(Report& whole, Report part);
// In the order of the sections.
std::vector<const Finding*> findings(const Report& report);

// Six digits: logarithms, t distributions and others differ in their last digits between machines.
double six_digits(double value);
std::optional<double> six_digits(const std::optional<double>& value);
// [low, high] in units of `unit`, with six digits; null if absent.
Value interval_value(const std::optional<Interval>& interval, double unit = 1);

// Any value that describes its fields (base/described.h), with sorted keys.
class ValueWriter final : public base::Writer {
public:
  bool has_names() const override { return true; }
  void boolean(bool value) override { put(value); }
  void integer(std::int64_t value) override { put(value); }
  void natural(std::uint64_t value) override { put(value); }
  void real(double value) override { put(value); }
  void text(std::string_view value) override { put(value); }
  void choice(std::uint64_t, std::string_view name) override { put(name); }
  void optional(bool present) override {
    if (!present)
      put(nullptr);
  }
  void list(std::size_t) override { open_.push_back({List{}, key_}); }
  void object() override { open_.push_back({Object{}, key_}); }
  void key(const char* name) override { key_ = name; }
  void end() override;
  Value take() { return std::move(root_); }

private:
  struct Open {
    std::variant<List, Object> what;
    const char* key;
  };
  void put(Value value);

  Value root_;
  std::vector<Open> open_;
  const char* key_ = "";
};
template <typename T>
Value described(const T& value) {
  ValueWriter writer;
  write_value(writer, value);
  return writer.take();
}

// For a type with fields; then `more`.
template <typename T>
Object described_with(const T& value, Object more) {
  Object all = std::get<Object>(described(value).held());
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

template <typename T>
requires(!std::is_same_v<std::remove_cvref_t<T>, Value>) Value::Value(T&& value) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, bool>)
    held_ = value;
  else if constexpr (std::is_enum_v<Plain>)
    held_ = std::string(base::to_string(value));
  else if constexpr (std::is_floating_point_v<Plain>)
    held_ = static_cast<double>(value);
  else if constexpr (std::is_unsigned_v<Plain>)
    held_ = static_cast<std::uint64_t>(value);
  else if constexpr (std::is_integral_v<Plain>)
    held_ = static_cast<std::int64_t>(value);
  else if constexpr (std::is_same_v<Plain, TablePtr> || std::is_same_v<Plain, List> ||
                     std::is_same_v<Plain, Object>)
    held_ = std::forward<T>(value);
  else if constexpr (std::is_convertible_v<Plain, std::string_view>)
    held_ = std::string(std::string_view(value));
  else if constexpr (std::is_same_v<Plain, Interval>)
    *this = interval_value(value);
  else if constexpr (base::Described<Plain> || base::WrittenAs<Plain>)
    *this = described(value);
  else if constexpr (requires { value.has_value(); })
    *this = value.has_value() ? Value(*value) : Value();
  else if constexpr (base::Described<Plain> || base::WrittenAs<Plain>)
    *this = described(value);
  else {
    List list;
    for (const auto& one : value)
      list.emplace_back(one);
    held_ = std::move(list);
  }
}

} // namespace ncclprobe::analysis
