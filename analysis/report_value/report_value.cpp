// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/report_value.h"

#include "base/text_layout.h"

#include <fmt/args.h>

#include <algorithm>
#include <iterator>

namespace ncclprobe::analysis {
namespace {

std::string fixed_text(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.front() == '-' ? text.substr(1) : text;
}

std::string number_text(double value, CellFormat format) {
  switch (format.unit) {
  case Unit::size:
    return base::size_text(static_cast<std::uint64_t>(value));
  case Unit::fixed:
    return fixed_text(value, format.digits);
  case Unit::milliseconds:
    return base::ms_text(value * 1e6);
  case Unit::ratio:
    return format.digits > 2 ? fixed_text(value, format.digits) + "x" : base::ratio_text(value);
  case Unit::chance:
    return value < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", value);
  case Unit::share:
    return fixed_text(100 * value, format.digits);
  case Unit::percent:
    return fixed_text(100 * value, format.digits) + "%";
  case Unit::grouped:
    return base::grouped(static_cast<std::uint64_t>(value));
  case Unit::number:
  case Unit::plain:
    break;
  }
  return base::format_number(value);
}

} // namespace

Value RowGetter::operator()(const void* row) const {
  return read_(row, kept_ ? kept_.get() : bytes_.data());
}

Value ColumnValue::operator()(std::size_t row) const {
  return get(first + row * row_bytes);
}

AddedColumn& AddedColumn::titled(std::string title, CellFormat format) {
  column_.title = std::move(title);
  column_.format = format;
  return *this;
}

AddedColumn& AddedColumn::left(int width) {
  column_.align = Column::Align::left;
  column_.width = width;
  return *this;
}

TableBuilder::TableBuilder(std::shared_ptr<const void> rows, const void* first,
                           std::size_t row_bytes, std::size_t count)
    : value_{std::move(rows), static_cast<const std::byte*>(first), row_bytes, {}},
      table_(std::make_shared<Table>()) {
  table_->rows = count;
}

AddedColumn TableBuilder::add_column(std::string key, const RowGetter& get) {
  Column& column = table_->columns.emplace_back();
  column.key = std::move(key);
  column.value = value_;
  column.value.get = get;
  return column;
}

AddedColumn TableBuilder::show_column(std::string title, const RowGetter& get, CellFormat format) {
  return add_column("", get).titled(std::move(title), format);
}

std::string shown(const Value& value, CellFormat format) {
  return std::visit(
      [&]<typename T>(const T& held) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, TablePtr> ||
                      std::is_same_v<T, Object>) {
          return "-";
        } else if constexpr (std::is_same_v<T, bool>) {
          return held ? "yes" : "no";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return held;
        } else if constexpr (std::is_same_v<T, List>) {
          std::vector<std::string> parts;
          for (const Value& one : held)
            parts.push_back(shown(one, format));
          return base::join(parts, format.unit == Unit::plain ? ", " : "-");
        } else if constexpr (std::is_same_v<T, double>) {
          return number_text(held, format);
        } else {
          return format.unit == Unit::plain ? std::to_string(held)
                                            : number_text(static_cast<double>(held), format);
        }
      },
      value.held());
}

std::string in_words(std::string_view sentence, const Object& values_by_name) {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const auto& [name, value] : values_by_name)
    std::visit(
        [&, &name = name, &value = value](const auto& held) {
          if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(held)>>)
            values.push_back(fmt::arg(name.c_str(), held));
          else
            values.push_back(fmt::arg(name.c_str(), value.is_null() ? "" : shown(value)));
        },
        value.held());
  return fmt::vformat(fmt::string_view(sentence.data(), sentence.size()), values);
}

std::string in_words(const Finding& finding) {
  return in_words(finding.kind->sentence, finding.values);
}

std::string in_words(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings)
    text += (text.empty() ? "" : " ") + in_words(one);
  return text;
}

std::vector<const Finding*> findings(const Report& report) {
  std::vector<const Finding*> all;
  for (const Section& section : report.sections) {
    if (section.only_on_pages)
      continue;
    for (const Block& block : section.blocks)
      if (const auto* found = std::get_if<Findings>(&block))
        for (const Finding& one : found->all)
          if (std::ranges::none_of(all, [&](const Finding* other) {
                return other->kind == one.kind && other->values == one.values;
              }))
            all.push_back(&one);
  }
  return all;
}

void append(Report& whole, Report part) {
  auto move_to_end = [](auto& to, auto& from) {
    to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
  };
  move_to_end(whole.sections, part.sections);
  move_to_end(whole.data, part.data);
  move_to_end(whole.figures, part.figures);
}

double six_digits(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

std::optional<double> six_digits(const std::optional<double>& value) {
  return value ? std::optional(six_digits(*value)) : std::nullopt;
}

Value interval_value(const std::optional<Interval>& interval, double unit) {
  return interval ? Value(List{six_digits(interval->low / unit), six_digits(interval->high / unit)})
                  : Value();
}

void ValueWriter::put(Value value) {
  if (open_.empty())
    root_ = std::move(value);
  else if (auto* object = std::get_if<Object>(&open_.back().what))
    object->emplace_back(key_, std::move(value));
  else
    std::get<List>(open_.back().what).push_back(std::move(value));
}

void ValueWriter::end() {
  Open done = std::move(open_.back());
  open_.pop_back();
  key_ = done.key;
  if (auto* object = std::get_if<Object>(&done.what)) {
    std::sort(object->begin(), object->end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    put(std::move(*object));
  } else {
    put(std::move(std::get<List>(done.what)));
  }
}

} // namespace ncclprobe::analysis
