"""The flags of llama-server: which are read, and how many words the others take.

From common/arg.cpp of llama.cpp b11434: every option of the server and of all programs.
"""

from __future__ import annotations

# field | kind | names | environment | names that switch it off
#
# Kinds: text, int, float, floats, types (a list that adds up) take a value; yes is a bare flag, yes_no one
# with an opposite; key notes that there was one; all and default are bare flags that stand for a value; samplers and
# sampler_letters are lists of samplers.
FLAGS = """
model | text | -m --model | LLAMA_ARG_MODEL
model_repo | text | -hf -hfr --hf-repo | LLAMA_ARG_HF_REPO
draft_model | text | --spec-draft-model -md --model-draft | LLAMA_ARG_SPEC_DRAFT_MODEL
draft_repo | text | --spec-draft-hf -hfd -hfrd --hf-repo-draft | LLAMA_ARG_SPEC_DRAFT_HF_REPO
mmproj | text | -mm --mmproj | LLAMA_ARG_MMPROJ
mmproj_auto | yes_no | --mmproj-auto | LLAMA_ARG_MMPROJ_AUTO | --no-mmproj --no-mmproj-auto
spec_types | types | --spec-type | LLAMA_ARG_SPEC_TYPE
spec_types | default | --spec-default
spec_draft_n_max | int | --spec-draft-n-max | LLAMA_ARG_SPEC_DRAFT_N_MAX
spec_draft_n_min | int | --spec-draft-n-min | LLAMA_ARG_SPEC_DRAFT_N_MIN
spec_draft_p_min | float | --spec-draft-p-min --draft-p-min | LLAMA_ARG_SPEC_DRAFT_P_MIN
spec_draft_p_split | float | --spec-draft-p-split --draft-p-split | LLAMA_ARG_SPEC_DRAFT_P_SPLIT
spec_draft_sampling | text | --spec-draft-sampling | LLAMA_ARG_SPEC_DRAFT_SAMPLING
spec_draft_backend_sampling | yes_no | --spec-draft-backend-sampling | LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING \
  | --no-spec-draft-backend-sampling
spec_ngram_mod_n_min | int | --spec-ngram-mod-n-min
spec_ngram_mod_n_max | int | --spec-ngram-mod-n-max
spec_ngram_mod_n_match | int | --spec-ngram-mod-n-match
spec_ngram_simple_size_n | int | --spec-ngram-simple-size-n
spec_ngram_simple_size_m | int | --spec-ngram-simple-size-m
spec_ngram_simple_min_hits | int | --spec-ngram-simple-min-hits
spec_ngram_map_k_size_n | int | --spec-ngram-map-k-size-n
spec_ngram_map_k_size_m | int | --spec-ngram-map-k-size-m
spec_ngram_map_k_min_hits | int | --spec-ngram-map-k-min-hits
spec_ngram_map_k4v_size_n | int | --spec-ngram-map-k4v-size-n
spec_ngram_map_k4v_size_m | int | --spec-ngram-map-k4v-size-m
spec_ngram_map_k4v_min_hits | int | --spec-ngram-map-k4v-min-hits
spec_synth_rates | floats | --spec-synth-rates | LLAMA_ARG_SPEC_SYNTH_RATES
spec_synth_len | float | --spec-synth-len | LLAMA_ARG_SPEC_SYNTH_LEN
backend_sampling | yes | -bs --backend-sampling | LLAMA_ARG_BACKEND_SAMPLING
host | text | --host | LLAMA_ARG_HOST
port | int | --port | LLAMA_ARG_PORT
api_prefix | text | --api-prefix | LLAMA_ARG_API_PREFIX
ssl_cert_file | text | --ssl-cert-file | LLAMA_ARG_SSL_CERT_FILE
alias | text | -a --alias | LLAMA_ARG_ALIAS
log_file | text | --log-file | LLAMA_ARG_LOG_FILE
log_disabled | yes | --log-disable
log_jsonl | yes_no | --log-jsonl | LLAMA_ARG_LOG_JSONL | --no-log-jsonl
verbosity | int | -lv --verbosity --log-verbosity | LLAMA_ARG_LOG_VERBOSITY
verbosity | all | -v --verbose --log-verbose
ctx | int | -c --ctx-size | LLAMA_ARG_CTX_SIZE
parallel | int | -np --parallel | LLAMA_ARG_N_PARALLEL
kv_unified | yes_no | -kvu --kv-unified | LLAMA_ARG_KV_UNIFIED | -no-kvu --no-kv-unified
kv_unified_per_slot | int | --kv-unified-per-slot | LLAMA_ARG_KV_UNIFIED_PER_SLOT
kv_offload | yes_no | -kvo --kv-offload | LLAMA_ARG_KV_OFFLOAD | -nkvo --no-kv-offload
swa_full | yes | --swa-full | LLAMA_ARG_SWA_FULL
context_shift | yes_no | --context-shift | LLAMA_ARG_CONTEXT_SHIFT | --no-context-shift
keep | int | --keep
n_predict | int | -n --predict --n-predict | LLAMA_ARG_N_PREDICT
ctx_checkpoints | int | -ctxcp --ctx-checkpoints --swa-checkpoints | LLAMA_ARG_CTX_CHECKPOINTS
cache_ram_mib | int | -cram --cache-ram | LLAMA_ARG_CACHE_RAM
cache_prompt | yes_no | --cache-prompt | LLAMA_ARG_CACHE_PROMPT | --no-cache-prompt
cache_reuse | int | --cache-reuse | LLAMA_ARG_CACHE_REUSE
batch | int | -b --batch-size | LLAMA_ARG_BATCH
ubatch | int | -ub --ubatch-size | LLAMA_ARG_UBATCH
threads | int | -t --threads | LLAMA_ARG_THREADS
threads_batch | int | -tb --threads-batch
cont_batching | yes_no | -cb --cont-batching | LLAMA_ARG_CONT_BATCHING | -nocb --no-cont-batching
flash_attn | text | -fa --flash-attn | LLAMA_ARG_FLASH_ATTN
cache_type_k | text | -ctk --cache-type-k | LLAMA_ARG_CACHE_TYPE_K
cache_type_v | text | -ctv --cache-type-v | LLAMA_ARG_CACHE_TYPE_V
draft_cache_type_k | text | --spec-draft-type-k -ctkd --cache-type-k-draft | LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K
draft_cache_type_v | text | --spec-draft-type-v -ctvd --cache-type-v-draft | LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V
gpu_layers | text | -ngl --gpu-layers --n-gpu-layers | LLAMA_ARG_N_GPU_LAYERS
draft_gpu_layers | text | --spec-draft-ngl -ngld --gpu-layers-draft --n-gpu-layers-draft \
  | LLAMA_ARG_N_GPU_LAYERS_DRAFT
cpu_moe | yes | -cmoe --cpu-moe | LLAMA_ARG_CPU_MOE
n_cpu_moe | int | -ncmoe --n-cpu-moe | LLAMA_ARG_N_CPU_MOE
n_cpu_ffn | int | -ncffn --n-cpu-ffn | LLAMA_ARG_N_CPU_FFN
override_tensor | text | -ot --override-tensor | LLAMA_ARG_OVERRIDE_TENSOR
draft_cpu_moe | yes | --spec-draft-cpu-moe -cmoed --cpu-moe-draft | LLAMA_ARG_SPEC_DRAFT_CPU_MOE
draft_n_cpu_moe | int | --spec-draft-n-cpu-moe --spec-draft-ncmoe -ncmoed --n-cpu-moe-draft \
  | LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE
draft_override_tensor | text | --spec-draft-override-tensor -otd --override-tensor-draft
split_mode | text | -sm --split-mode | LLAMA_ARG_SPLIT_MODE
tensor_split | text | -ts --tensor-split | LLAMA_ARG_TENSOR_SPLIT
main_gpu | int | -mg --main-gpu | LLAMA_ARG_MAIN_GPU
fit | text | -fit --fit | LLAMA_ARG_FIT
fit_target | text | -fitt --fit-target | LLAMA_ARG_FIT_TARGET
fit_ctx | int | -fitc --fit-ctx | LLAMA_ARG_FIT_CTX
load_mode | text | -lm --load-mode | LLAMA_ARG_LOAD_MODE
mmap | yes_no | --mmap | LLAMA_ARG_MMAP | --no-mmap
device | text | -dev --device | LLAMA_ARG_DEVICE
draft_device | text | --spec-draft-device -devd --device-draft
metrics | yes | --metrics | LLAMA_ARG_ENDPOINT_METRICS
slots | yes_no | --slots | LLAMA_ARG_ENDPOINT_SLOTS | --no-slots
sleep_idle_s | int | --sleep-idle-seconds
has_api_key | key | --api-key | LLAMA_API_KEY
api_key_file | text | --api-key-file | LLAMA_ARG_API_KEY_FILE
models_dir | text | --models-dir | LLAMA_ARG_MODELS_DIR
models_preset | text | --models-preset | LLAMA_ARG_MODELS_PRESET
"""

# The same for sampling parameters. Their fields are named as in the answers of /props and /slots.
SAMPLING = """
temperature | float | --temp --temperature | LLAMA_ARG_TEMPERATURE
top_k | int | --top-k | LLAMA_ARG_TOP_K
top_p | float | --top-p | LLAMA_ARG_TOP_P
min_p | float | --min-p | LLAMA_ARG_MIN_P
top_n_sigma | float | --top-nsigma --top-n-sigma
xtc_probability | float | --xtc-probability
xtc_threshold | float | --xtc-threshold
typical_p | float | --typical --typical-p
repeat_last_n | int | --repeat-last-n
repeat_penalty | float | --repeat-penalty | LLAMA_ARG_REPEAT_PENALTY
presence_penalty | float | --presence-penalty | LLAMA_ARG_PRESENCE_PENALTY
frequency_penalty | float | --frequency-penalty | LLAMA_ARG_FREQUENCY_PENALTY
dry_multiplier | float | --dry-multiplier
dry_base | float | --dry-base
dry_allowed_length | int | --dry-allowed-length
dry_penalty_last_n | int | --dry-penalty-last-n
dynatemp_range | float | --dynatemp-range
dynatemp_exponent | float | --dynatemp-exp
mirostat | int | --mirostat
mirostat_eta | float | --mirostat-lr
mirostat_tau | float | --mirostat-ent
adaptive_target | float | --adaptive-target
adaptive_decay | float | --adaptive-decay
seed | int | -s --seed
ignore_eos | yes | --ignore-eos
samplers | samplers | --samplers
samplers | sampler_letters | --sampler-seq --sampling-seq
"""

# Read no further, but known: each takes one value, two values, none. --mlock, like --mmap above, is of builds before
# --load-mode; so are --direct-io and its opposite.
ONE_VALUE = """
-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll -Cb --cpu-mask-batch -Crb --cpu-range-batch
--cpu-strict-batch --prio-batch --poll-batch -lcs --lookup-cache-static -lcd --lookup-cache-dynamic -cms
--checkpoint-min-step -p --prompt -f --file -bf --binary-file -r --reverse-prompt --dry-sequence-breaker -l
--logit-bias --grammar --grammar-file -j --json-schema -jf --json-schema-file --pooling --rope-scaling
--rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor --yarn-attn-factor
--yarn-beta-slow --yarn-beta-fast -dt --defrag-thold -mmu --mmproj-url -mmdev --mmproj-device
--image-min-tokens --image-max-tokens --mtmd-batch-max-tokens --video-fps --video-timestamp-interval
--video-ffmpeg-dir --rpc -lzm --lazy-mode --numa --override-kv --lora --lora-scaled --control-vector
--control-vector-scaled --tags -mu --model-url -dr --docker-repo -hff --hf-file -hft --hf-token
--embd-normalize --path --cors-origins --cors-methods --cors-headers --ui-config --webui-config
--ui-config-file --webui-config-file --tools --tools-runtime --mcp-servers-config --mcp-servers-json
--ssl-key-file --chat-template-kwargs -to --timeout --sse-ping-interval --threads-http --slot-save-path
--media-path --models-max --reasoning-format -rea --reasoning --reasoning-effort --reasoning-budget
--reasoning-budget-message --chat-template --chat-template-file -sps --slot-prompt-similarity
--log-prompts-dir --log-colors --spec-draft-threads -td --threads-draft --spec-draft-threads-batch -tbd
--threads-batch-draft --spec-draft-cpu-mask -Cd --cpu-mask-draft --spec-draft-cpu-range -Crd
--cpu-range-draft --spec-draft-cpu-strict --cpu-strict-draft --spec-draft-prio --prio-draft
--spec-draft-poll --poll-draft --spec-draft-cpu-mask-batch -Cbd --cpu-mask-batch-draft
--spec-draft-cpu-strict-batch --cpu-strict-batch-draft --spec-draft-prio-batch --prio-batch-draft
--spec-draft-poll-batch --poll-batch-draft
"""
TWO_VALUES = "--control-vector-layer-range"
NO_VALUE = """
-h --help --usage --version --mlock -dio --direct-io -ndio --no-direct-io -cl --cache-list --completion-bash
--cache-idle-slots --no-cache-idle-slots --perf --no-perf -e --escape --no-escape -sp --special --warmup
--no-warmup --spm-infill --repack -nr --no-repack --no-host --mmproj-offload --no-mmproj-offload
--list-devices --check-tensors --op-offload --no-op-offload --reuse-port --cors-credentials
--no-cors-credentials --ui-mcp-proxy --webui-mcp-proxy --no-ui-mcp-proxy --no-webui-mcp-proxy -ag --agent
-no-ag --no-agent --ui --webui --no-ui --no-webui --embedding --embeddings --rerank --reranking --props
--models-autoload --no-models-autoload --jinja --no-jinja --reasoning-preserve --no-reasoning-preserve
--skip-chat-parsing --no-skip-chat-parsing --prefill-assistant --no-prefill-assistant
--lora-init-without-apply --offline --log-prefix --no-log-prefix --log-timestamps --no-log-timestamps
--embd-gemma-default --fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec
--fim-qwen-14b-spec --fim-qwen-30b-default --gpt-oss-20b-default --gpt-oss-120b-default
--vision-gemma-4b-default --vision-gemma-12b-default
"""

# Old names and what stands for them today; nothing: the draft context is as long as the target's. Today's builds refuse
# the flags, and the variables in REFUSED_VARIABLES; the other variables they do not read (b10434 and b11434).
_N_MAX = ("--spec-draft-n-max", "--spec-ngram-mod-n-max")
_N_MIN = ("--spec-draft-n-min", "--spec-ngram-mod-n-min")
REMOVED_FLAGS: dict[str, tuple[str, ...]] = {
    "--draft": _N_MAX,
    "--draft-n": _N_MAX,
    "--draft-max": _N_MAX,
    "--draft-min": _N_MIN,
    "--draft-n-min": _N_MIN,
    "--spec-ngram-size-n": ("--spec-ngram-simple-size-n", "--spec-ngram-mod-n-match"),
    "--spec-ngram-size-m": ("--spec-ngram-simple-size-m",),
    "--spec-ngram-min-hits": ("--spec-ngram-simple-min-hits",),
    "-cd": (),
    "--ctx-size-draft": (),
}
REMOVED_VARIABLES: dict[str, tuple[str, ...]] = {
    "LLAMA_ARG_DRAFT_MAX": ("LLAMA_ARG_SPEC_DRAFT_N_MAX",),
    "LLAMA_ARG_DRAFT_MIN": ("LLAMA_ARG_SPEC_DRAFT_N_MIN",),
    "LLAMA_ARG_DRAFT_P_MIN": ("LLAMA_ARG_SPEC_DRAFT_P_MIN",),
    "LLAMA_ARG_DRAFT_P_SPLIT": ("LLAMA_ARG_SPEC_DRAFT_P_SPLIT",),
    "LLAMA_ARG_CTX_SIZE_DRAFT": (),
    "LLAMA_ARG_MODEL_DRAFT": ("LLAMA_ARG_SPEC_DRAFT_MODEL",),
}
REFUSED_VARIABLES = frozenset({"LLAMA_ARG_DRAFT_MAX", "LLAMA_ARG_DRAFT_MIN"})

# The same the other way: what a flag was called before the names of today. -md, -ngld, -ctkd, -ctvd and --draft-p-min
# are taken by old and new builds alike.
OLD_NAMES = {
    "--spec-draft-n-max": "--draft-max",
    "--spec-draft-n-min": "--draft-min",
    "--spec-draft-p-min": "--draft-p-min",
    "--spec-draft-model": "--model-draft",
    "--spec-draft-ngl": "--gpu-layers-draft",
    "--spec-draft-device": "--device-draft",
    "--spec-draft-type-k": "--cache-type-k-draft",
    "--spec-draft-type-v": "--cache-type-v-draft",
    "--spec-ngram-mod-n-max": "--draft-max",
    "--spec-ngram-mod-n-min": "--draft-min",
    "--spec-ngram-mod-n-match": "--spec-ngram-size-n",
}
