// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/measured.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

const std::vector<ReferenceCurve>& reference_curves() {
  static const std::vector<ReferenceCurve> all = [] {
    std::vector<ReferenceCurve> made;
    for (const auto& one : section("measured", "curves")) {
      ReferenceCurve curve{
          text_of(one, "device"), text_of(one, "nccl"), text_of(one, "op"), one.at("gpus"), {}};
      for (const auto& point : one.at("points"))
        curve.points.push_back({point.at(0), point.at(1), point.at(2)});
      made.push_back(std::move(curve));
    }
    return made;
  }();
  return all;
}

const std::vector<std::string>& reference_curve_sources() {
  static const auto keys = texts_of(section("measured", "curves_method"), "sources");
  return keys;
}

const std::vector<ReferenceFigure>& reference_figures() {
  static const std::vector<ReferenceFigure> all = [] {
    std::vector<ReferenceFigure> made;
    for (const auto& one : section("measured", "figures")) {
      ReferenceFigure figure;
      figure.gpu = text_of(one, "gpu");
      figure.kind = text_of(one, "kind");
      figure.gpus = optional_of<int>(one, "gpus").value_or(0);
      figure.nvls = optional_of<bool>(one, "nvls");
      figure.link = text_of(one, "link");
      figure.bytes = optional_of<std::uint64_t>(one, "bytes").value_or(0);
      figure.low_gb_per_s = one.at("low");
      figure.high_gb_per_s = one.at("high");
      figure.threshold_gb_per_s = optional_of<double>(one, "threshold");
      figure.note = text_of(one, "note");
      figure.source = text_of(one, "source");
      figure.measured_by = text_of(one, "measured_by");
      made.push_back(std::move(figure));
    }
    return made;
  }();
  return all;
}

} // namespace ncclprobe::knowledge
