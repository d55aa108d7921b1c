// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/export/perfetto.h"

#include <protozero/pbf_writer.hpp>
#include <unordered_map>

namespace ncclprobe::analysis::trace_export {
namespace {

using protozero::pbf_writer;

// Field numbers of Perfetto's messages, by message.
namespace trace_field {
constexpr protozero::pbf_tag_type k_packet = 1;
}
namespace packet {
constexpr protozero::pbf_tag_type k_timestamp = 8, k_sequence = 10, k_track_event = 11,
                                  k_interned_data = 12, k_sequence_flags = 13,
                                  k_track_descriptor = 60;
constexpr std::uint32_t k_state_cleared = 1, k_needs_state = 2; // bits of sequence_flags
} // namespace packet
namespace descriptor {
constexpr protozero::pbf_tag_type k_uuid = 1, k_name = 2, k_process = 3, k_thread = 4,
                                  k_parent_uuid = 5, k_counter = 8, k_child_ordering = 11,
                                  k_sibling_order_rank = 12;
constexpr int k_explicit = 3; // of child_ordering
} // namespace descriptor
namespace process_descriptor {
constexpr protozero::pbf_tag_type k_pid = 1, k_process_name = 6;
}
namespace counter_descriptor {
constexpr protozero::pbf_tag_type k_unit = 3, k_unit_name = 6;
constexpr int k_size_bytes = 3; // of unit
} // namespace counter_descriptor
namespace event {
constexpr protozero::pbf_tag_type k_category_iids = 3, k_debug_annotations = 4, k_type = 9,
                                  k_name_iid = 10, k_track_uuid = 11, k_counter_value = 30,
                                  k_flow_ids = 47;
constexpr int k_slice_begin = 1, k_slice_end = 2, k_counter = 4; // of type
} // namespace event
namespace annotation {
constexpr protozero::pbf_tag_type k_name_iid = 1, k_uint_value = 3, k_int_value = 4,
                                  k_string_value = 6;
}
namespace interned {
constexpr protozero::pbf_tag_type k_event_categories = 1, k_event_names = 2,
                                  k_debug_annotation_names = 3;
constexpr protozero::pbf_tag_type k_iid = 1, k_name = 2; // of each
} // namespace interned

constexpr std::uint32_t k_sequence = 1; // all packets are of one

class PerfettoSink : public EventSink {
public:
  void process(const Process& process) override {
    std::string body;
    pbf_writer descriptor(body);
    descriptor.add_uint64(descriptor::k_uuid, uuid_of(process.id, 0));
    {
      pbf_writer of_process(descriptor, descriptor::k_process);
      of_process.add_int32(process_descriptor::k_pid, process.id);
      of_process.add_string(process_descriptor::k_process_name, process.name);
    }
    descriptor.add_enum(descriptor::k_child_ordering, descriptor::k_explicit);
    describe(body);
  }

  void track(const Track& track) override { describe(track, nullptr); }
  void counter(const Track& track, const char* unit) override { describe(track, unit); }

  void slices(const std::vector<Slice>& of_track) override {
    std::vector<const Slice*> open;
    for (const Slice& slice : of_track) {
      while (!open.empty() && open.back()->end_ns <= slice.start_ns)
        end_last(open);
      begin(slice);
      open.push_back(&slice);
    }
    while (!open.empty())
      end_last(open);
  }

  void sample(const CounterSample& sample) override {
    std::string body;
    pbf_writer event(body);
    event.add_enum(event::k_type, event::k_counter);
    event.add_uint64(event::k_track_uuid, uuid_of(sample.process, sample.counter));
    event.add_int64(event::k_counter_value, sample.value);
    emit(sample.at_ns, body);
  }

  std::string take() override { return std::exchange(bytes_, {}); }
  std::string finish() override { return take(); }

private:
  // Names are written once and then referenced by a number.
  struct Names {
    protozero::pbf_tag_type field;
    std::unordered_map<std::string, std::uint64_t> ids;
  };

  static std::uint64_t uuid_of(int process, int track) {
    return static_cast<std::uint64_t>(process) << 32 | static_cast<std::uint32_t>(track);
  }

  void describe(const Track& track, const char* unit) {
    std::string body;
    pbf_writer descriptor(body);
    descriptor.add_uint64(descriptor::k_uuid, uuid_of(track.process, track.id));
    descriptor.add_uint64(descriptor::k_parent_uuid, uuid_of(track.process, 0));
    descriptor.add_string(descriptor::k_name, track.name);
    if (unit) {
      pbf_writer counter(descriptor, descriptor::k_counter);
      if (std::string_view(unit) == "bytes")
        counter.add_enum(counter_descriptor::k_unit, counter_descriptor::k_size_bytes);
      else
        counter.add_string(counter_descriptor::k_unit_name, unit);
    }
    descriptor.add_int32(descriptor::k_sibling_order_rank, track.id);
    describe(body);
  }

  void describe(const std::string& descriptor) {
    pbf_writer trace(bytes_);
    pbf_writer one(trace, trace_field::k_packet);
    one.add_uint32(packet::k_sequence, k_sequence);
    one.add_message(packet::k_track_descriptor, descriptor);
    flags(one);
  }

  void flags(pbf_writer& one) {
    one.add_uint32(packet::k_sequence_flags, std::exchange(first_, false)
                                                 ? packet::k_state_cleared | packet::k_needs_state
                                                 : packet::k_needs_state);
  }

  void begin(const Slice& slice) {
    std::string body;
    pbf_writer event(body);
    event.add_enum(event::k_type, event::k_slice_begin);
    event.add_uint64(event::k_track_uuid, uuid_of(slice.process, slice.track));
    event.add_uint64(event::k_category_iids, intern(categories_, slice.category));
    event.add_uint64(event::k_name_iid, intern(event_names_, slice.name));
    for (std::uint64_t flow : slice.flows)
      event.add_fixed64(event::k_flow_ids, flow);
    for (const Argument& argument : slice.arguments) {
      pbf_writer annotation(event, event::k_debug_annotations);
      annotation.add_uint64(annotation::k_name_iid, intern(argument_names_, argument.name));
      if (auto* number = std::get_if<std::uint64_t>(&argument.value))
        annotation.add_uint64(annotation::k_uint_value, *number);
      else if (auto* integer = std::get_if<std::int64_t>(&argument.value))
        annotation.add_int64(annotation::k_int_value, *integer);
      else {
        auto text = std::get<std::string_view>(argument.value);
        annotation.add_string(annotation::k_string_value, text.data(), text.size());
      }
    }
    emit(slice.start_ns, body);
  }

  void end_last(std::vector<const Slice*>& open) {
    const Slice& slice = *open.back();
    open.pop_back();
    std::string body;
    pbf_writer event(body);
    event.add_enum(event::k_type, event::k_slice_end);
    event.add_uint64(event::k_track_uuid, uuid_of(slice.process, slice.track));
    emit(slice.end_ns, body);
  }

  std::uint64_t intern(Names& names, std::string_view name) {
    auto [place, is_new] = names.ids.emplace(name, names.ids.size() + 1);
    if (is_new) {
      pbf_writer data(interned_);
      pbf_writer entry(data, names.field);
      entry.add_uint64(interned::k_iid, place->second);
      entry.add_string(interned::k_name, place->first);
    }
    return place->second;
  }

  void emit(std::int64_t at_ns, const std::string& event) {
    pbf_writer trace(bytes_);
    pbf_writer one(trace, trace_field::k_packet);
    one.add_uint64(packet::k_timestamp, static_cast<std::uint64_t>(at_ns));
    one.add_uint32(packet::k_sequence, k_sequence);
    if (!interned_.empty())
      one.add_message(packet::k_interned_data, std::exchange(interned_, {}));
    one.add_message(packet::k_track_event, event);
    flags(one);
  }

  std::string bytes_;
  std::string interned_; // new names, for the next packet
  bool first_ = true;
  Names categories_{interned::k_event_categories, {}};
  Names event_names_{interned::k_event_names, {}};
  Names argument_names_{interned::k_debug_annotation_names, {}};
};

} // namespace

std::unique_ptr<EventSink> make_perfetto_sink() {
  return std::make_unique<PerfettoSink>();
}

} // namespace ncclprobe::analysis::trace_export
