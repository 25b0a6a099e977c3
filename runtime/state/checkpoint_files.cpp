// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "engine/base/check.h"
#include "runtime/state/crc32c.h"
#include "runtime/state/model_description.h"

namespace orrery {
namespace {

constexpr const char* kFormat = "orrery checkpoint 1";
constexpr std::int64_t kFileRanksMax = 1'000'000;

using Metadata = std::map<std::string, std::string>;

template <class T>
bool read_number(const Metadata& metadata, const char* key, T& value) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) {
        return false;
    }
    const char* end = found->second.data() + found->second.size();
    const auto [stop, error] = std::from_chars(found->second.data(), end, value);
    return error == std::errc{} && stop == end;
}

// The last four bytes are the checksum of the others.
bool has_good_checksum(const Safetensors& file) {
    const StoredTensor* stored = file.find("checksum");
    const std::span<const std::byte> all = file.file_bytes();
    if (stored == nullptr || stored->type != "U32" || stored->elements() != 1 ||
        file.bytes(*stored).data() + 4 != all.data() + all.size()) {
        return false;
    }
    std::uint32_t expected = 0;
    std::memcpy(&expected, file.bytes(*stored).data(), 4);
    return crc32c({all.first(all.size() - 4)}) == expected;
}

// A run of a block within a range: (element of the range, element of the whole, count). Runs are
// sorted by the second.
struct Run {
    std::int64_t local;
    std::int64_t global;
    std::int64_t count;
};
std::vector<Run> runs_of(const ParameterBlock& block, ElementRange range) {
    std::vector<Run> runs;
    block.for_each_run(range, [&](std::int64_t local, std::int64_t global, std::int64_t count) {
        runs.push_back({local - range.first, global, count});
    });
    std::ranges::sort(runs, {}, &Run::global);
    return runs;
}

}  // namespace

std::string_view name(Section section) {
    switch (section) {
        case Section::weight:
            return "weight";
        case Section::first_moment:
            return "first moment";
        case Section::second_moment:
            return "second moment";
        default:
            return "master";
    }
}

std::string checkpoint_file_name(std::int64_t rank) {
    return fmt::format("rank-{:05}.safetensors", rank);
}

Metadata checkpoint_metadata(const RunState& run, std::int64_t rank, std::int64_t num_ranks) {
    Metadata metadata;
    for (const auto& [key, value] : describe_model(run.model)) {
        metadata["model." + key] = value;
    }
    metadata["model.name"] = run.model.name;
    metadata["format"] = kFormat;
    metadata["precision"] = run.precision;
    metadata["main_params_dtype"] = run.main_params_dtype;
    metadata["seed"] = std::to_string(run.seed);
    metadata["global_batch_size"] = std::to_string(run.global_batch_size);
    metadata["step"] = std::to_string(run.step);
    metadata["consumed_samples"] = std::to_string(run.consumed_samples);
    metadata["rank"] = std::to_string(rank);
    metadata["num_ranks"] = std::to_string(num_ranks);
    return metadata;
}

std::string part_text(const ParameterBlock& block, ElementRange range) {
    return fmt::format("{} {} {}", range.first, range.count, block.to_text());
}

std::string_view type_of(Dtype dtype) {
    ORRERY_CHECK(dtype == Dtype::fp32 || dtype == Dtype::bf16);
    return dtype == Dtype::fp32 ? "F32" : "BF16";
}

Result<CheckpointFiles> CheckpointFiles::open(const std::filesystem::path& folder,
                                              std::int64_t first_rank) {
    CheckpointFiles files{folder};
    const auto first = files.file(0);
    if (!first) {
        return unexpected<Error>(first.error());
    }
    const Metadata& metadata = (*first)->metadata();
    const std::string path = (*first)->path().string();
    Metadata model;
    for (const auto& [key, value] : metadata) {
        if (key.starts_with("model.")) {
            model[key.substr(6)] = value;
        }
    }
    Result<Transformer> described = model_of_description(model);
    if (!described) {
        return fail(path, described.error().what);
    }
    RunState& run = files.run_;
    run.model = std::move(*described);
    run.model.name = model["name"];
    const auto precision = metadata.find("precision");
    run.precision = precision == metadata.end() ? "" : precision->second;
    if (const auto main = metadata.find("main_params_dtype"); main != metadata.end()) {
        run.main_params_dtype = main->second;
    }
    const bool good = read_number(metadata, "seed", run.seed) &&
                      read_number(metadata, "step", run.step) &&
                      read_number(metadata, "global_batch_size", run.global_batch_size) &&
                      read_number(metadata, "consumed_samples", run.consumed_samples) &&
                      read_number(metadata, "num_ranks", files.num_ranks_) && run.step >= 0 &&
                      files.num_ranks_ > 0 && files.num_ranks_ <= kFileRanksMax;
    if (!good) {
        return fail(path, "does not tell the run that it is of");
    }
    files.first_rank_ = std::clamp<std::int64_t>(first_rank, 0, files.num_ranks_ - 1);
    return files;
}

Result<void> CheckpointFiles::verify() {
    for (std::int64_t rank = 0; rank < num_ranks_; ++rank) {
        if (const auto one = file(rank); !one) {
            return unexpected<Error>(one.error());
        }
    }
    return {};
}

Result<const Safetensors*> CheckpointFiles::file(std::int64_t rank) {
    const auto known = files_.find(rank);
    if (known != files_.end()) {
        return &known->second;
    }
    const std::filesystem::path path = folder_ / checkpoint_file_name(rank);
    Result<Safetensors> file = Safetensors::open(path);
    if (!file) {
        return unexpected<Error>(std::move(file.error()));
    }
    const auto format = file->metadata().find("format");
    if (format == file->metadata().end() || format->second != kFormat) {
        return fail(path.string(), fmt::format("is not of the format '{}'", kFormat));
    }
    if (!has_good_checksum(*file)) {
        return fail(path.string(), "is damaged: its checksum is another", "an earlier checkpoint");
    }
    const auto at = [&](const char* key) {
        const auto found = file->metadata().find(key);
        return found == file->metadata().end() ? std::string{} : found->second;
    };
    if (!files_.empty()) {
        const Metadata& first = files_.at(0).metadata();
        for (const char* key : {"step", "num_ranks", "seed"}) {
            if (at(key) != first.at(key)) {
                return fail(path.string(),
                            fmt::format("is of another run than the file of rank 0: its {} is {}, "
                                        "not {}",
                                        key,
                                        at(key),
                                        first.at(key)));
            }
        }
    }
    return &files_.emplace(rank, std::move(*file)).first->second;
}

Result<CheckpointFiles::Part> CheckpointFiles::part(const Safetensors& file,
                                                    const StoredTensor& tensor) const {
    const auto wrong = [&] {
        return fail(file.path().string(),
                    fmt::format("does not tell which part tensor '{}' is", tensor.name));
    };
    const auto found = file.metadata().find(tensor.name);
    if (found == file.metadata().end()) {
        return wrong();
    }
    Part part;
    const char* end = found->second.data() + found->second.size();
    auto parsed = std::from_chars(found->second.data(), end, part.range.first);
    if (parsed.ec == std::errc{} && parsed.ptr != end) {
        parsed = std::from_chars(parsed.ptr + 1, end, part.range.count);
    }
    auto block = ParameterBlock::from_text({parsed.ptr, end});
    const std::int64_t elements = block ? block->local_elements() : 0;
    if (parsed.ec != std::errc{} || !block || part.range.first < 0 || part.range.count < 0 ||
        part.range.first > elements || part.range.count > elements - part.range.first ||
        part.range.count != tensor.elements()) {
        return wrong();
    }
    part.block = std::move(*block);
    return part;
}

Result<bool> CheckpointFiles::copy_from(const Safetensors& file,
                                        const std::string& tensor,
                                        const Part& wanted,
                                        TensorView into,
                                        std::vector<bool>& filled) const {
    const StoredTensor* stored = file.find(tensor);
    if (stored == nullptr) {
        return false;
    }
    const auto wrong = [&](const std::string& what) {
        return fail(file.path().string(), fmt::format("'{}' {}", tensor, what));
    };
    if (stored->type != type_of(into.dtype)) {
        return wrong(
            fmt::format("is of type {} there and {} here", stored->type, type_of(into.dtype)));
    }
    const Result<Part> has = part(file, *stored);
    if (!has) {
        return unexpected<Error>(has.error());
    }
    if (has->block.rows != wanted.block.rows || has->block.columns != wanted.block.columns) {
        return wrong(fmt::format("is {} x {} there and {} x {} here",
                                 has->block.rows,
                                 has->block.columns,
                                 wanted.block.rows,
                                 wanted.block.columns));
    }
    const std::int64_t element = size_bytes(into.dtype);
    const std::byte* bytes = file.bytes(*stored).data();
    if (has->block == wanted.block && has->range == wanted.range) {
        if (into.size > 0) {
            std::memcpy(into.data, bytes, static_cast<std::size_t>(into.size * element));
        }
        filled.assign(filled.size(), true);
        return true;
    }
    const std::vector<Run> theirs = runs_of(has->block, has->range);
    const std::vector<Run> ours = runs_of(wanted.block, wanted.range);
    std::size_t next = 0;
    for (const Run& run : ours) {
        while (next < theirs.size() && theirs[next].global + theirs[next].count <= run.global) {
            ++next;
        }
        for (std::size_t i = next; i < theirs.size() && theirs[i].global < run.global + run.count;
             ++i) {
            const std::int64_t first = std::max(run.global, theirs[i].global);
            const std::int64_t end =
                std::min(run.global + run.count, theirs[i].global + theirs[i].count);
            const std::int64_t to = run.local + first - run.global;
            const std::int64_t from = theirs[i].local + first - theirs[i].global;
            std::memcpy(into.data + to * element,
                        bytes + from * element,
                        static_cast<std::size_t>((end - first) * element));
            std::fill_n(filled.begin() + to, end - first, true);
        }
    }
    return true;
}

Result<void> CheckpointFiles::read(const std::string& parameter,
                                   Section section,
                                   const ParameterBlock& block,
                                   ElementRange range,
                                   TensorView into) {
    ORRERY_CHECK(into.size == range.count);
    const std::string tensor = fmt::format("{} {}", name(section), parameter);
    const Part wanted{block, range};
    // Padding is not part of the whole parameter and need not be found.
    std::vector<bool> filled(static_cast<std::size_t>(range.count), true);
    for (const Run& run : runs_of(block, range)) {
        std::fill_n(filled.begin() + run.local, run.count, false);
    }
    bool found = false;
    for (std::int64_t i = 0; i < num_ranks_; ++i) {
        if (std::ranges::find(filled, false) == filled.end()) {
            return {};
        }
        const auto from = file((first_rank_ + i) % num_ranks_);
        if (!from) {
            return unexpected<Error>(from.error());
        }
        const Result<bool> copied = copy_from(**from, tensor, wanted, into, filled);
        if (!copied) {
            return unexpected<Error>(copied.error());
        }
        found = found || *copied;
    }
    if (std::ranges::find(filled, false) == filled.end()) {
        return {};
    }
    return fail(folder_.string(),
                fmt::format("{} '{}'", found ? "has only a part of" : "lacks", tensor));
}

Result<std::vector<float>> CheckpointFiles::read_weights(const std::string& parameter,
                                                         std::int64_t rows,
                                                         std::int64_t columns) {
    const ParameterBlock whole = ParameterBlock::whole(rows, columns);
    const ElementRange all{0, rows * columns};
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    const bool bf16_only = run_.main_params_dtype == "bf16";
    std::vector<std::uint16_t> bits(bf16_only ? values.size() : 0);
    const TensorView in_bf16{
        reinterpret_cast<std::byte*>(bits.data()), Dtype::bf16, bf16_only ? all.count : 0};
    const Section section =
        bf16_only || run_.precision == "fp32" ? Section::weight : Section::master;
    const Result<void> done =
        read(parameter, section, whole, all, bf16_only ? in_bf16 : view_of(std::span{values}));
    if (!done) {
        return unexpected<Error>(done.error());
    }
    if (bf16_only) {
        load_row(in_bf16, 0, values);
    }
    return values;
}

}  // namespace orrery
