// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/adapters/adapters_cuda.h"
#include "kernels/norm_operands.h"
#include "kernels/paged_attention/paged_attention_cuda.h"
#include "runtime/cuda/cuda_decoder_pass.h"
#include "runtime/cuda/cuda_result.h"
#include "runtime/cuda/graph_capture.h"

namespace orrery {
namespace {

constexpr const char* kServingMemoryHint =
    "a smaller num_blocks, max_num_batched_tokens or max_num_seqs of the pool";

// Rows are padded to this many; a step's own limit is the last size.
std::int64_t padded(std::int64_t rows, std::int64_t most) {
    return std::min<std::int64_t>(
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows))), most);
}

std::int64_t blocks_of(std::int64_t tokens, std::int64_t block_size) {
    return (tokens + block_size - 1) / block_size;
}

}  // namespace

std::string why_not_served_on_cuda(const Transformer& m) {
    if (m.num_experts > 0) {
        return "models with experts are served on CPUs alone";
    }
    if (m.hidden_size > device::kNormHiddenMax) {
        return fmt::format("norms on a GPU take rows of up to {}", device::kNormHiddenMax);
    }
    return std::string{device::why_not_paged({.head_dim = m.kv_channels})};
}

Result<std::unique_ptr<CudaDecoder>> CudaDecoder::create(const ServedModel& served,
                                                         const CacheShape& cache,
                                                         const CudaDecoderOptions& options) {
    ORRERY_CHECK(options.step_sequences > 0 && options.step_tokens >= options.step_sequences);
    ORRERY_CHECK(options.dtype == Dtype::fp32 || options.dtype == Dtype::bf16);
    if (const std::string why = why_not_served_on_cuda(served.model); !why.empty()) {
        return fail("model", why, "--device cpu");
    }
    std::unique_ptr<CudaDecoder> decoder{new CudaDecoder(served, cache, options)};
    if (Result<void> done = decoder->set_up(served); !done) {
        return unexpected<Error>(done.error());
    }
    return decoder;
}

CudaDecoder::~CudaDecoder() {
    if (device_ == nullptr || device_->is_abandoned()) {
        return;
    }
    for (const auto& [rows, graph] : graphs_) {
        if (graph != nullptr) {
            cudaGraphExecDestroy(graph);
        }
    }
}

Result<void> CudaDecoder::set_up(const ServedModel& served) {
    Result<void> done = open_device();
    done = done ? upload_weights(served) : done;
    done = done ? allocate() : done;
    return done ? allocate_numbers() : done;
}

Result<void> CudaDecoder::open_device() {
    auto device = CudaDevice::open_ordinal(options_.ordinal);
    if (!device) {
        return unexpected<Error>(device.error());
    }
    device_ = std::move(*device);
    auto workspace =
        device_->allocate(kGemmWorkspaceBytes, "the workspace of cuBLASLt", kServingMemoryHint);
    if (!workspace) {
        return unexpected<Error>(workspace.error());
    }
    auto gemm = CudaGemm::create({.device = device_->info().name,
                                  .num_sms = device_->info().multiprocessors,
                                  .algorithms = options_.gemm_algorithms,
                                  .workspace = *workspace});
    auto event = device_->make_event(false);
    if (!gemm || !event) {
        return unexpected<Error>(gemm ? event.error() : gemm.error());
    }
    gemm_ = std::move(*gemm);
    end_ = *event;
    return {};
}

// All zeros: rows that a batch is padded with are computed, and must not meet what is no number.
Result<TensorView> CudaDecoder::tensor(std::int64_t size, Dtype dtype, const std::string& what) {
    const std::int64_t bytes = size * size_bytes(dtype);
    auto memory = device_->allocate(bytes, what, kServingMemoryHint);
    if (!memory) {
        return unexpected<Error>(memory.error());
    }
    const cudaStream_t stream = device_->stream(kComputeStream);
    const Result<void> done = cuda_result(
        bytes == 0 ? cudaSuccess
                   : cudaMemsetAsync(*memory, 0, static_cast<std::size_t>(bytes), stream),
        what);
    if (!done) {
        return unexpected<Error>(done.error());
    }
    return TensorView{*memory, dtype, size};
}

Result<TensorView> CudaDecoder::upload(const ServedModel& served, const std::string& name) {
    const auto found = served.weights.find(name);
    ORRERY_CHECK(found != served.weights.end());
    const std::vector<float>& values = found->second;
    auto view = tensor(std::ssize(values), options_.dtype, name);
    if (!view) {
        return view;
    }
    std::vector<std::byte> narrowed(values.size() *
                                    static_cast<std::size_t>(size_bytes(options_.dtype)));
    store_row({narrowed.data(), options_.dtype, view->size}, 0, values);
    // The zeros come first: the stream is not that of a blocking copy.
    const cudaStream_t stream = device_->stream(kComputeStream);
    Result<void> done = cuda_result(cudaStreamSynchronize(stream), name);
    done =
        done ? cuda_result(
                   cudaMemcpy(view->data, narrowed.data(), narrowed.size(), cudaMemcpyHostToDevice),
                   name)
             : done;
    return done ? view : Result<TensorView>{unexpected<Error>(done.error())};
}

Result<void> CudaDecoder::upload_weights(const ServedModel& served) {
    struct Named {
        std::string name;
        TensorView* to;
    };
    const Transformer& m = model_;
    layers_.resize(static_cast<std::size_t>(m.num_layers));
    std::vector<Named> all{{"embedding.word_embeddings.weight", &embedding_},
                           {"final_layernorm", &final_norm_}};
    if (m.position_embedding == PositionEmbedding::learned) {
        all.push_back({"embedding.position_embeddings.weight", &positions_});
    }
    if (!m.tied_embeddings) {
        all.push_back({"output_layer.weight", &output_});
    }
    for (std::int64_t i = 0; i < m.num_layers; ++i) {
        Layer& layer = layers_[static_cast<std::size_t>(i)];
        layer.window = m.layer_has_window(i) ? m.sliding_window : 0;
        const auto add = [&](std::string_view name, TensorView& to) {
            all.push_back({fmt::format("layers.{}.{}", i, name), &to});
        };
        add("input_layernorm", layer.norm1);
        add("self_attention.linear_qkv.weight", layer.qkv);
        add("self_attention.linear_proj.weight", layer.projection);
        add("mlp.linear_fc1.weight", layer.fc1);
        add("mlp.linear_fc2.weight", layer.fc2);
        if (!m.parallel_block) {
            add("pre_mlp_layernorm", layer.norm2);
        }
        if (m.qkv_has_bias()) {
            add("self_attention.linear_qkv.bias", layer.qkv_bias);
        }
        if (m.add_bias_linear) {
            add("self_attention.linear_proj.bias", layer.projection_bias);
            add("mlp.linear_fc1.bias", layer.fc1_bias);
            add("mlp.linear_fc2.bias", layer.fc2_bias);
        }
        if (served.adapters > 0) {
            for (const AdaptedProjection& p : adapted_projections(m, i)) {
                all.push_back({p.name + ".adapter_a", &layer.adapters[p.product].a});
                all.push_back({p.name + ".adapter_b", &layer.adapters[p.product].b});
            }
        }
    }
    for (const Named& each : all) {
        auto view = upload(served, each.name);
        if (!view) {
            return unexpected<Error>(view.error());
        }
        *each.to = *view;
    }
    output_ = m.tied_embeddings ? embedding_ : output_;
    return {};
}

std::int64_t CudaDecoder::table_width() const {
    return blocks_of(model_.seq_length, cache_.block_size);
}

Result<void> CudaDecoder::allocate() {
    struct Wanted {
        TensorView* to;
        std::int64_t size;
        Dtype dtype;
        const char* what;
    };
    const Transformer& m = model_;
    const Dtype dtype = options_.dtype;
    const std::int64_t rows = options_.step_tokens;
    const std::int64_t h = m.hidden_size;
    const std::int64_t width = 2 * m.kv_size();
    constexpr const char* kStep = "the activations of a step";
    std::vector<Wanted> all{
        {&x_.stream, rows * h, dtype, kStep},
        {&x_.normed, rows * h, dtype, kStep},
        {&x_.branch, rows * h, dtype, kStep},
        {&x_.qkv, rows * (m.query_size() + width), dtype, kStep},
        {&x_.context, rows * m.context_size(), dtype, kStep},
        {&x_.fc1, rows * (m.gated_mlp() ? 2 : 1) * m.ffn_hidden_size, dtype, kStep},
        {&x_.activated, rows * m.ffn_hidden_size, dtype, kStep},
        {&x_.last, options_.step_sequences * h, dtype, kStep},
        {&x_.log_sum_exp, rows * m.num_attention_heads, Dtype::fp32, kStep},
        {&x_.gathered, m.seq_length * width, dtype, kStep},
        {&x_.logits, options_.step_sequences * m.vocab_size, Dtype::fp32, "the logits of a step"}};
    for (Layer& layer : layers_) {
        all.push_back({&layer.cache,
                       cache_.num_blocks * cache_.block_size * width,
                       dtype,
                       "the cache of keys and values"});
    }
    for (const Wanted& each : all) {
        auto view = tensor(each.size, each.dtype, each.what);
        if (!view) {
            return unexpected<Error>(view.error());
        }
        *each.to = *view;
    }
    scratch_bytes_ = device::paged_scratch_bytes({.rows = options_.step_sequences,
                                                  .heads = m.num_attention_heads,
                                                  .kv_heads = m.num_query_groups,
                                                  .head_dim = m.kv_channels,
                                                  .block_size = cache_.block_size,
                                                  .table_width = table_width()});
    scratch_bytes_ = std::max(
        scratch_bytes_,
        device::adapter_scratch_bytes({.rows = options_.step_tokens, .rank = adapter_rank_}));
    auto scratch =
        device_->allocate(scratch_bytes_, "scratch memory of kernels", kServingMemoryHint);
    if (!scratch) {
        return unexpected<Error>(scratch.error());
    }
    scratch_ = *scratch;
    return {};
}

Result<void> CudaDecoder::allocate_numbers() {
    const std::int64_t rows = options_.step_tokens;
    const std::int64_t chunks = options_.step_sequences;
    std::int64_t all = 0;
    for (const auto& [to, size] : {std::pair{&numbers_.tokens, rows},
                                   std::pair{&numbers_.positions, rows},
                                   std::pair{&numbers_.slots, rows},
                                   std::pair{&numbers_.adapters, rows},
                                   std::pair{&numbers_.contexts, chunks},
                                   std::pair{&numbers_.samples, chunks},
                                   std::pair{&numbers_.tables, chunks * table_width()}}) {
        auto view = tensor(size, Dtype::int32, "the numbers of a step");
        if (!view) {
            return unexpected<Error>(view.error());
        }
        *to = *view;
        all += size;
    }
    auto sent = device_->allocate_pinned(4 * all);
    auto received = device_->allocate_pinned(4 * x_.logits.size);
    if (!sent || !received) {
        return unexpected<Error>(sent ? received.error() : sent.error());
    }
    sent_ = *sent;
    received_ = *received;
    return {};
}

Result<void> CudaDecoder::check(std::span<const DecodeChunk> chunks) const {
    std::int64_t tokens = 0;
    for (const DecodeChunk& chunk : chunks) {
        tokens += static_cast<std::int64_t>(chunk.tokens.size());
    }
    if (tokens > options_.step_tokens || std::ssize(chunks) > options_.step_sequences) {
        return fail("",
                    fmt::format("a step of {} tokens of {} sequences, where {} and {} are the most",
                                tokens,
                                chunks.size(),
                                options_.step_tokens,
                                options_.step_sequences));
    }
    return {};
}

// Copies from pinned memory: the one before has ended, since a step waits for its end.
Result<void> CudaDecoder::send(const PagedBatch& batch) {
    std::byte* at = sent_;
    for (const auto& [from, to] : {std::pair{&batch.tokens, numbers_.tokens},
                                   std::pair{&batch.positions, numbers_.positions},
                                   std::pair{&batch.slots, numbers_.slots},
                                   std::pair{&batch.adapters, numbers_.adapters},
                                   std::pair{&batch.contexts, numbers_.contexts},
                                   std::pair{&batch.samples, numbers_.samples},
                                   std::pair{&batch.tables, numbers_.tables}}) {
        const std::size_t bytes = 4 * from->size();
        ORRERY_CHECK(std::ssize(*from) <= to.size);
        if (bytes == 0) {
            continue;
        }
        std::memcpy(at, from->data(), bytes);
        const Result<void> done = cuda_result(
            cudaMemcpyAsync(
                to.data, at, bytes, cudaMemcpyHostToDevice, device_->stream(kComputeStream)),
            "the numbers of a step");
        if (!done) {
            return done;
        }
        at += bytes;
    }
    return {};
}

Result<void> CudaDecoder::capture(const PagedBatch& batch, cudaGraphExec_t& graph) {
    return capture_graph(device_->stream(kComputeStream), graph, [&] {
        return Pass{*this, batch}.launch();
    });
}

// The first step of its rows is launched kernel by kernel, which loads them; the second is
// captured.
Result<void> CudaDecoder::compute(const PagedBatch& batch) {
    Pass pass{*this, batch};
    const bool fresh = measured_.insert({batch.rows, std::ssize(batch.samples)}).second;
    if (fresh) {
        if (Result<void> done = pass.prepare(); !done) {
            return done;
        }
    }
    const bool replayable =
        options_.graphs && batch.prompts.empty() && std::ssize(batch.samples) == batch.rows;
    if (fresh || !replayable) {
        return pass.launch();
    }
    cudaGraphExec_t& graph = graphs_[batch.rows];
    Result<void> done = graph == nullptr ? capture(batch, graph) : Result<void>{};
    return done ? cuda_result(cudaGraphLaunch(graph, device_->stream(kComputeStream)),
                              "launching a graph")
                : done;
}

Result<void> CudaDecoder::wait_for_end() {
    cudaError_t state = cudaErrorNotReady;
    const bool ended = patience(options_.deadline).wait_until([&] {
        state = cudaEventQuery(end_);
        return state != cudaErrorNotReady;
    });
    if (!ended) {
        device_->abandon();
        return fail("",
                    fmt::format("{} did not end a step within {} s",
                                device_->info().name,
                                options_.deadline.count() / 1000),
                    "nvidia-smi shows what it does");
    }
    return cuda_result(state, "a step");
}

Result<void> CudaDecoder::receive(std::int64_t samples, std::vector<float>& logits) {
    const cudaStream_t stream = device_->stream(kComputeStream);
    const auto size = static_cast<std::size_t>(samples * model_.vocab_size);
    Result<void> done = cuda_result(
        size == 0
            ? cudaSuccess
            : cudaMemcpyAsync(received_, x_.logits.data, 4 * size, cudaMemcpyDeviceToHost, stream),
        "the logits of a step");
    done = done ? cuda_result(cudaEventRecord(end_, stream), "the end of a step") : done;
    done = done ? wait_for_end() : done;
    if (done) {
        logits.resize(size);
        std::memcpy(logits.data(), received_, 4 * size);
    }
    return done;
}

Result<void> CudaDecoder::run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) {
    logits.clear();
    if (chunks.empty()) {
        return {};
    }
    if (Result<void> good = check(chunks); !good) {
        return good;
    }
    PagedBatch batch = paged_batch(chunks, cache_.block_size, table_width());
    const std::int64_t samples = std::ssize(batch.samples);
    const std::int64_t most =
        batch.prompts.empty() ? options_.step_sequences : options_.step_tokens;
    pad_rows(batch, padded(batch.rows, most), table_width());
    if (samples > 0) {
        batch.samples.resize(static_cast<std::size_t>(padded(samples, options_.step_sequences)));
    }
    Result<void> done = cuda_result(cudaSetDevice(device_->info().ordinal), device_->info().name);
    done = done ? send(batch) : done;
    done = done ? compute(batch) : done;
    return done ? receive(samples, logits) : done;
}

}  // namespace orrery
