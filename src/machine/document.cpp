// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/document.h"

namespace ncclprobe::topology {

void write_as(base::Writer& out, const Path& path) {
  out.text(path.label());
}

void read_as(base::Reader& in, Path& path) {
  const std::string label = in.text();
  const auto parsed = parse_path_label(label);
  if (!parsed)
    raise(Errc::protocol, "'{}' is not a path label", label);
  path = *parsed;
}

} // namespace ncclprobe::topology

template void ncclprobe::base::write_fields(Writer&, const ncclprobe::topology::Host&);
template void ncclprobe::base::read_fields(Reader&, ncclprobe::topology::Host&);
