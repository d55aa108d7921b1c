// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/measured.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

NCCLPROBE_FIELDS(ReferenceCurve, gpu, nccl, collective, gpus, points)
NCCLPROBE_LENIENT_FIELDS(FigureKind, path, collective, bidirectional)
NCCLPROBE_PARTLY_LENIENT_FIELDS(ReferenceFigure,
                                (gpu, kind, link, low_gb_per_s, high_gb_per_s, source),
                                (gpus, nvls, bytes, threshold_gb_per_s, note, measured_by))

// A point is a list: bytes, microseconds, GB/s.
static void read_as(base::Reader& in, ReferencePoint& point) {
  in.list();
  in.element();
  point.bytes = in.natural();
  in.element();
  point.time_us = in.real();
  in.element();
  point.busbw_gb_per_s = in.real();
  in.end();
}

const std::vector<ReferenceCurve>& reference_curves() {
  static const auto all = rows<ReferenceCurve>("measured", "curves");
  return all;
}

const std::vector<std::string>& reference_curve_sources() {
  static const std::vector<std::string> keys = section("measured", "curves_method").at("sources");
  return keys;
}

const std::vector<ReferenceFigure>& reference_figures() {
  static const auto all = rows<ReferenceFigure>("measured", "figures");
  return all;
}

} // namespace ncclprobe::knowledge
