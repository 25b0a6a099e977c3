// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <span>
#include <system_error>

#include "runtime/state/checkpoint_files.h"
#include "runtime/state/crc32c.h"
#include "runtime/state/model_description.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLatest = "latest";

// The name of an old checkpoint of the same step until the new one is in place.
fs::path replaced(fs::path checkpoint) {
    return checkpoint += ".old";
}

std::span<const std::byte> bytes_of(ConstTensorView view) {
    return {view.data, static_cast<std::size_t>(view.size * size_bytes(view.dtype))};
}

// Writes this rank's file.
Result<void> write_rank_file(FileSystem& files,
                             const fs::path& path,
                             const RunState& run,
                             const RankOfRun& rank,
                             const std::vector<HeldParameter>& parameters) {
    auto metadata = checkpoint_metadata(run, rank.rank, rank.num_ranks);
    std::vector<TensorToStore> tensors;
    const auto add =
        [&](const HeldParameter& p, Section section, ConstTensorView view, ElementRange range) {
            std::string tensor = fmt::format("{} {}", name(section), p.name);
            metadata[tensor] = part_text(p.block, range);
            tensors.push_back({.name = std::move(tensor),
                               .type = std::string{type_of(view.dtype)},
                               .shape = {view.size},
                               .bytes = bytes_of(view)});
        };
    for (const HeldParameter& p : parameters) {
        add(p, Section::weight, p.weight, p.held);
        add(p, Section::first_moment, p.first_moment, p.own);
        add(p, Section::second_moment, p.second_moment, p.own);
        if (!p.master.empty()) {
            add(p, Section::master, p.master, p.own);
        }
    }
    std::uint32_t checksum = 0;
    tensors.push_back({.name = "checksum",
                       .type = "U32",
                       .shape = {1},
                       .bytes = std::as_bytes(std::span{&checksum, 1})});
    const std::string begin = safetensors_begin(tensors, metadata);
    FileSystem::Pieces pieces{std::as_bytes(std::span{begin})};
    for (const TensorToStore& tensor : tensors) {
        pieces.push_back(tensor.bytes);
    }
    checksum = crc32c({pieces.begin(), pieces.end() - 1});
    return files.write_file(path, pieces);
}

// Renames the new folder. Replaces a checkpoint of the same step.
Result<void> give_name(FileSystem& files, const fs::path& temporary, const fs::path& checkpoint) {
    const fs::path old = replaced(checkpoint);
    std::error_code ignored;
    Result<void> done;
    if (fs::exists(checkpoint, ignored)) {
        done = files.remove(old);
        done = done ? files.rename(checkpoint, old) : done;
    }
    done = done ? files.rename(temporary, checkpoint) : done;
    return done ? files.remove(old) : done;
}

Result<void> replace_latest(FileSystem& files, const fs::path& folder, const std::string& name) {
    const std::string text = name + "\n";
    const fs::path temporary = folder / (std::string{kLatest} + ".tmp");
    const Result<void> written = files.write_file(temporary, {std::as_bytes(std::span{text})});
    return written ? files.rename(temporary, folder / kLatest) : written;
}

std::string word_of(const fs::path& file) {
    std::ifstream in{file};
    std::string word;
    in >> word;
    return word;
}

// The keys that load_checkpoint() compares, including the model's.
ModelDescription description_of(const RunState& run) {
    ModelDescription description;
    for (const auto& [key, value] : describe_model(run.model)) {
        description["model." + key] = value;
    }
    description["plan.precision"] = run.precision;
    description["plan.main_params_dtype"] = run.main_params_dtype;
    description["plan.global_batch_size"] = std::to_string(run.global_batch_size);
    description["job.seed"] = std::to_string(run.seed);
    return description;
}

Result<void> read_parameter(CheckpointFiles& files, const HeldParameter& p) {
    Result<void> done = files.read(p.name, Section::weight, p.block, p.held, p.weight);
    done = done ? files.read(p.name, Section::first_moment, p.block, p.own, p.first_moment) : done;
    done =
        done ? files.read(p.name, Section::second_moment, p.block, p.own, p.second_moment) : done;
    if (done && !p.master.empty()) {
        done = files.read(p.name, Section::master, p.block, p.own, p.master);
    }
    return done;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
    return fmt::format("step-{:06}", step);
}

Result<void> save_checkpoint(FileSystem& files,
                             const fs::path& folder,
                             const RunState& run,
                             const RankOfRun& rank,
                             const std::vector<HeldParameter>& parameters) {
    const std::string name = checkpoint_name(run.step);
    const fs::path temporary = folder / (name + ".tmp");
    const bool leads = rank.rank == 0;
    Result<void> done;
    if (leads) {
        done = files.remove(temporary);  // from an interrupted attempt
        done = done ? files.create_folder(temporary) : done;
    }
    done = rank.agree(done);
    if (done) {
        done = rank.agree(write_rank_file(
            files, temporary / checkpoint_file_name(rank.rank), run, rank, parameters));
    }
    if (done) {
        if (leads) {
            done = give_name(files, temporary, folder / name);
            done = done ? replace_latest(files, folder, name) : done;
        }
        done = rank.agree(done);
    }
    if (!done && leads) {
        const Result<void> ignored = files.remove(temporary);  // report the first error only
    }
    return done;
}

Result<fs::path> find_checkpoint(const fs::path& folder) {
    std::error_code ignored;
    if (fs::exists(folder / checkpoint_file_name(0), ignored)) {
        return folder;
    }
    const std::string name = word_of(folder / kLatest);
    if (name.empty()) {
        return fail(folder.string(),
                    "holds no checkpoint",
                    "job.checkpoint_folder of a run that has saved one");
    }
    const fs::path checkpoint = folder / fs::path{name}.filename();
    for (const fs::path& place : {checkpoint, replaced(checkpoint)}) {
        if (fs::exists(place / checkpoint_file_name(0), ignored)) {
            return place;
        }
    }
    return fail(checkpoint.string(),
                "is what the folder's file 'latest' names, and is not there",
                "write the name of another checkpoint into 'latest'");
}

Result<RunState> load_checkpoint(const fs::path& checkpoint,
                                 const RunState& run,
                                 std::int64_t rank,
                                 const std::vector<HeldParameter>& parameters) {
    Result<CheckpointFiles> files = CheckpointFiles::open(checkpoint, rank);
    if (!files) {
        return unexpected<Error>(std::move(files.error()));
    }
    const std::vector<std::string> other =
        differences(description_of(files->run()), description_of(run));
    if (!other.empty()) {
        return fail(checkpoint.string(),
                    fmt::format("is of another run: {}", fmt::join(other, "; ")),
                    "resume with the scenario that it was saved by");
    }
    for (const HeldParameter& p : parameters) {
        if (const Result<void> done = read_parameter(*files, p); !done) {
            return unexpected<Error>(done.error());
        }
    }
    return files->run();
}

}  // namespace orrery
