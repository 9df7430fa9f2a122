/* A libnvidia-ml.so.1 without a GPU: it answers what the script says that NVML_STANDIN_SCRIPT names, line by line:
 *
 *   devices N                      how many there are
 *   replay DEVICE FILE SPEED       play recorded frames (as in tests/fixtures/nvml) from now on, round and round
 *   WHO FUNCTION[:ARG] [ret=N] [ms=N] [v=N,N,..] [s=TEXT]
 *
 * WHO is *, a device's number, or DEVICE/N for its MIG instance N; FUNCTION is the name without "nvml", or * for all
 * that ask a device; ARG the enumerator asked for (clock, threshold, field, direction, index). The last line that
 * fits counts, except that one for * goes before one for a name. ret is the return code, ms how long the call takes,
 * v its numbers in the order of its results, s its text to the end of the line. What no line names is not supported.
 *
 * The script is looked at again every 10 ms. Struct layouts are those of nvml.h; its own version checks are kept.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, INSUFFICIENT_SIZE, NOT_LOADED = 9,
       VERSION_MISMATCH = 25 };

#define FUNCTIONS(X) \
    X(InitWithFlags) X(SystemGetDriverVersion) X(DeviceGetCount_v2) X(DeviceGetHandleByIndex_v2) X(DeviceGetName) \
    X(DeviceGetUUID) X(DeviceGetPciInfo_v3) X(DeviceGetMinorNumber) X(DeviceGetFieldValues) X(DeviceGetPowerUsage) \
    X(DeviceGetUtilizationRates) X(DeviceGetClockInfo) X(DeviceGetMaxClockInfo) \
    X(DeviceGetCurrentClocksEventReasons) X(DeviceGetCurrentClocksThrottleReasons) X(DeviceGetMemoryInfo) \
    X(DeviceGetMemoryInfo_v2) X(DeviceGetComputeRunningProcesses_v2) X(DeviceGetComputeRunningProcesses_v3) \
    X(DeviceGetGraphicsRunningProcesses_v2) X(DeviceGetGraphicsRunningProcesses_v3) \
    X(DeviceGetMPSComputeRunningProcesses_v2) X(DeviceGetMPSComputeRunningProcesses_v3) X(DeviceGetTemperature) \
    X(DeviceGetTemperatureV) X(DeviceGetTemperatureThreshold) X(DeviceGetTotalEnergyConsumption) \
    X(DeviceGetEnforcedPowerLimit) X(DeviceGetPowerManagementDefaultLimit) \
    X(DeviceGetPowerManagementLimitConstraints) X(DeviceGetMemoryBusWidth) X(DeviceGetMigMode) \
    X(DeviceGetMaxMigDeviceCount) X(DeviceGetMigDeviceHandleByIndex) X(DeviceGetVirtualizationMode) \
    X(DeviceGetCudaComputeCapability) X(DeviceGetPcieThroughput) X(DeviceGetCurrPcieLinkGeneration) \
    X(DeviceGetCurrPcieLinkWidth) X(DeviceGetMaxPcieLinkGeneration) X(DeviceGetMaxPcieLinkWidth)

#define NUMBER(name) F_##name,
#define NAME(name) #name,
enum { FUNCTIONS(NUMBER) F_ANY };
static const char *const names[] = {FUNCTIONS(NAME) "*"};

#ifndef LOOK_S
#define LOOK_S 0.01
#endif

enum { MAX_DEVICES = 64, MAX_INSTANCES = 8, MAX_VALUES = 128, ANY = -1 };

typedef struct Rule {
    int device, instance, ret, n;
    long arg, ms;
    uint64_t v[MAX_VALUES];
    char s[128];
    struct Rule *next;
} Rule;

typedef struct { double t, n[9]; int pids; uint64_t held[16]; } Frame;  /* pid, bytes, pid, bytes, .. */

typedef struct { Frame *frames; int n; double speed, began; } Replay;

typedef struct { int devices; Rule *rules[F_ANY + 1]; Replay replay[MAX_DEVICES]; } Script;

typedef struct { int device, instance; } Handle;

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned version, sensor; int temperature; } Temperature;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory2;

static Handle handles[MAX_DEVICES][MAX_INSTANCES + 1];  /* [0] is the device itself */
static int inits;
static Script *script;  /* old ones are never freed: a call may still be reading them */
static struct stat seen;
static char seen_path[4096];
static double looked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void read_replay(Replay *replay, const char *path, double speed) {
    FILE *file = fopen(path, "r");
    char line[4096];
    *replay = (Replay){.speed = speed, .began = now()};
    while (file && fgets(line, sizeof line, file)) {
        replay->frames = realloc(replay->frames, (replay->n + 1) * sizeof(Frame));
        Frame *frame = &replay->frames[replay->n++];
        char *at = line + 1, *end;
        *frame = (Frame){.t = strtod(at, &at)};
        for (int i = 0; i < 9; i++) frame->n[i] = strtod(at + 1, &at);
        for (end = strstr(at, "]]"); end && at < end && frame->pids < 8; frame->pids++) {
            at += strcspn(at, "0123456789");
            frame->held[2 * frame->pids] = strtoull(at, &at, 10);
            at += strcspn(at, "0123456789");
            frame->held[2 * frame->pids + 1] = strtoull(at, &at, 10);
        }
    }
    if (file) fclose(file);
}

static void read_rule(Script *made, char *who, char *function, char *rest) {
    Rule *rule = calloc(1, sizeof *rule);
    char *arg = strchr(function, ':'), *slash = strchr(who, '/'), *text = !strncmp(rest, "s=", 2) ? rest : strstr(rest, " s=");
    int f = 0;
    if (arg) *arg++ = 0;
    rule->arg = arg ? atol(arg) : ANY;
    rule->device = *who == '*' ? ANY : atoi(who);
    rule->instance = slash ? atoi(slash + 1) + 1 : 0;
    while (f < F_ANY && strcmp(names[f], function)) f++;
    if (text) {
        snprintf(rule->s, sizeof rule->s, "%s", strchr(text, '=') + 1);
        rule->s[strcspn(rule->s, "\n")] = 0;
        *text = 0;
    }
    char *save;
    for (char *word = strtok_r(rest, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (!strncmp(word, "ret=", 4)) rule->ret = atoi(word + 4);
        if (!strncmp(word, "ms=", 3)) rule->ms = atol(word + 3);
        if (!strncmp(word, "v=", 2))
            for (char *at = word + 2; *at && rule->n < MAX_VALUES; at += *at == ',')
                rule->v[rule->n++] = strtoull(at, &at, 10);
    }
    rule->next = made->rules[f];
    made->rules[f] = rule;
}

static void read_script(const char *path) {
    Script *made = calloc(1, sizeof *made), *old = script;
    FILE *file = fopen(path, "r");
    char line[8192], who[64], function[128], replayed[4096];
    int device, at = 0;
    double speed;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "devices %d", &made->devices) == 1) continue;
        if (sscanf(line, "replay %d %4095s %lf", &device, replayed, &speed) == 3)
            read_replay(&made->replay[device], replayed, speed);
        else if (sscanf(line, "%63s %127s %n", who, function, &at) == 2)
            read_rule(made, who, function, line + at);
    }
    if (file) fclose(file);
    for (int i = 0; old && i < MAX_DEVICES; i++)  /* goes on where it is when something else is changed */
        if (made->replay[i].n && made->replay[i].n == old->replay[i].n) made->replay[i].began = old->replay[i].began;
    __atomic_store_n(&script, made, __ATOMIC_RELEASE);
}

static Script *current(void) {
    const char *path = getenv("NVML_STANDIN_SCRIPT");
    pthread_mutex_lock(&lock);
    if (now() - looked > LOOK_S || strcmp(path ? path : "", seen_path)) {
        struct stat is = {0};
        if (path && !stat(path, &is) &&
            (is.st_ino != seen.st_ino || is.st_mtim.tv_nsec != seen.st_mtim.tv_nsec ||
             is.st_mtim.tv_sec != seen.st_mtim.tv_sec || strcmp(path, seen_path))) {
            read_script(path);
            seen = is;
            snprintf(seen_path, sizeof seen_path, "%s", path);
        } else if (!path || !is.st_ino) {
            script = NULL;
            seen = (struct stat){0};
            *seen_path = 0;
        }
        looked = now();
    }
    pthread_mutex_unlock(&lock);
    return __atomic_load_n(&script, __ATOMIC_ACQUIRE);
}

static Rule *find(Script *in, int function, int device, int instance, long arg) {
    for (Rule *rule = in->rules[function]; rule; rule = rule->next)
        if ((rule->device == ANY || (rule->device == device && rule->instance == instance)) &&
            (rule->arg == ANY || rule->arg == arg))
            return rule;
    return NULL;
}

static int take(Rule *rule) {
    if (rule->ms) nanosleep(&(struct timespec){rule->ms / 1000, rule->ms % 1000 * 1000000}, NULL);
    return rule->ret;
}

/* The rule for a call on a device; what it returns is the call's return code. */
static int ask(void *handle, int function, long arg, Rule **rule) {
    Script *in = current();
    Handle *of = handle;
    if (!__atomic_load_n(&inits, __ATOMIC_ACQUIRE) || !in) return UNINITIALIZED;
    Rule *all = find(in, F_ANY, of->device, of->instance, ANY);
    if (all && (all->ret || all->ms)) {
        int ret = take(all);
        if (ret) return ret;
    }
    *rule = find(in, function, of->device, of->instance, arg);
    return *rule ? take(*rule) : NOT_SUPPORTED;
}

static Frame *frame_of(void *handle) {
    Script *in = current();
    Handle *of = handle;
    Replay *replay = in && !of->instance ? &in->replay[of->device] : NULL;
    if (!replay || !replay->n) return NULL;
    Frame *frames = replay->frames;
    double span = frames[replay->n - 1].t - frames[0].t;
    double at = frames[0].t + fmod((now() - replay->began) * replay->speed, span > 0 ? span : 1);
    int i = 0;
    while (i + 1 < replay->n && frames[i + 1].t <= at) i++;
    return &frames[i];
}

/* --- the system ------------------------------------------------------------------------------------------------- */

static int ask_system(int function, Rule **rule) {
    Script *in = current();
    if (!in) return NOT_LOADED;
    *rule = find(in, function, ANY, 0, ANY);
    return *rule ? take(*rule) : SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    Rule *rule = NULL;
    int ret = ask_system(F_InitWithFlags, &rule);
    (void)flags;
    if (!ret) __atomic_add_fetch(&inits, 1, __ATOMIC_ACQ_REL);
    return ret;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (!inits) return UNINITIALIZED;
    __atomic_sub_fetch(&inits, 1, __ATOMIC_ACQ_REL);
    return SUCCESS;
}

int nvmlStandinInits(void) { return inits; }

const char *nvmlErrorString(int code) { (void)code; return "an error of the stand-in"; }

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    Rule *rule = NULL;
    int ret = inits ? ask_system(F_SystemGetDriverVersion, &rule) : UNINITIALIZED;
    if (!ret) snprintf(text, size, "%s", rule ? rule->s : "580.159.04");
    return ret;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    Rule *rule = NULL;
    int ret = inits ? ask_system(F_DeviceGetCount_v2, &rule) : UNINITIALIZED;
    if (!ret) *count = current()->devices;
    return ret;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    Script *in = current();
    Rule *rule;
    if (!inits || !in) return UNINITIALIZED;
    if (index >= (unsigned)in->devices) return INVALID_ARGUMENT;
    handles[index][0] = (Handle){index, 0};
    *handle = &handles[index][0];
    if ((rule = find(in, F_ANY, index, 0, ANY)) && rule->ret && rule->ret != NO_PERMISSION) return rule->ret;
    return (rule = find(in, F_DeviceGetHandleByIndex_v2, index, 0, ANY)) ? take(rule) : SUCCESS;
}

/* --- numbers ---------------------------------------------------------------------------------------------------- */

/* v: what the recording says instead, NAN where it says nothing */
static int number(void *handle, int function, long arg, double recorded, uint64_t *value) {
    Rule *rule = NULL;
    int ret = ask(handle, function, arg, &rule);
    if (!ret) *value = isnan(recorded) ? rule->v[0] : (uint64_t)recorded;
    return ret;
}

#define RECORDED(handle, column) (frame_of(handle) ? frame_of(handle)->n[column] : NAN)

#define PLAIN(name, type, recorded) \
    int nvml##name(void *handle, type *out) { \
        uint64_t value = 0; \
        int ret = number(handle, F_##name, ANY, recorded, &value); \
        if (!ret) *out = (type)value; \
        return ret; \
    }

#define OF(name, recorded) \
    int nvml##name(void *handle, unsigned arg, unsigned *out) { \
        uint64_t value = 0; \
        int ret = number(handle, F_##name, arg, recorded, &value); \
        if (!ret) *out = (unsigned)value; \
        return ret; \
    }

#define TWO(name, a, b) \
    int nvml##name(void *handle, a *first, b *second) { \
        Rule *rule = NULL; \
        int ret = ask(handle, F_##name, ANY, &rule); \
        if (!ret) *first = (a)rule->v[0], *second = (b)rule->v[1]; \
        return ret; \
    }

PLAIN(DeviceGetMinorNumber, unsigned, NAN)
PLAIN(DeviceGetPowerUsage, unsigned, RECORDED(handle, 0))
#ifndef OLD
PLAIN(DeviceGetCurrentClocksEventReasons, unsigned long long, RECORDED(handle, 7))
#endif
PLAIN(DeviceGetCurrentClocksThrottleReasons, unsigned long long, RECORDED(handle, 7))
PLAIN(DeviceGetTotalEnergyConsumption, unsigned long long, NAN)
PLAIN(DeviceGetEnforcedPowerLimit, unsigned, NAN)
PLAIN(DeviceGetPowerManagementDefaultLimit, unsigned, NAN)
PLAIN(DeviceGetMemoryBusWidth, unsigned, NAN)
PLAIN(DeviceGetMaxMigDeviceCount, unsigned, NAN)
PLAIN(DeviceGetVirtualizationMode, unsigned, NAN)
PLAIN(DeviceGetCurrPcieLinkGeneration, unsigned, NAN)
PLAIN(DeviceGetCurrPcieLinkWidth, unsigned, NAN)
PLAIN(DeviceGetMaxPcieLinkGeneration, unsigned, NAN)
PLAIN(DeviceGetMaxPcieLinkWidth, unsigned, NAN)
OF(DeviceGetClockInfo, arg == 1 ? RECORDED(handle, 6) : NAN)
OF(DeviceGetMaxClockInfo, NAN)
OF(DeviceGetTemperature, RECORDED(handle, 8))
OF(DeviceGetTemperatureThreshold, NAN)
OF(DeviceGetPcieThroughput, RECORDED(handle, 4 + arg))
TWO(DeviceGetPowerManagementLimitConstraints, unsigned, unsigned)
TWO(DeviceGetMigMode, unsigned, unsigned)
TWO(DeviceGetCudaComputeCapability, int, int)

int nvmlDeviceGetUtilizationRates(void *handle, Utilization *out) {
    Rule *rule = NULL;
    int ret = ask(handle, F_DeviceGetUtilizationRates, ANY, &rule);
    Frame *frame = frame_of(handle);
    if (!ret) out->gpu = frame ? frame->n[1] : rule->v[0], out->memory = frame ? frame->n[2] : rule->v[1];
    return ret;
}

#ifndef OLD
int nvmlDeviceGetTemperatureV(void *handle, Temperature *out) {
    uint64_t value = 0;
    if (out->version != 0x100000C) return VERSION_MISMATCH;
    int ret = number(handle, F_DeviceGetTemperatureV, out->sensor, RECORDED(handle, 8), &value);
    if (!ret) out->temperature = (int)value;
    return ret;
}

typedef struct {
    uint32_t field, scope;
    int64_t timestamp, latency_us;
    uint32_t type, ret;
    union { double d; unsigned u; unsigned long long ull; } value;
} FieldValue;

/* v: the value and its type (1, an unsigned int, if left out) */
int nvmlDeviceGetFieldValues(void *handle, int count, FieldValue *fields) {
    for (int i = 0; i < count; i++) {
        Rule *rule = NULL;
        int ret = ask(handle, F_DeviceGetFieldValues, fields[i].field, &rule);
        Frame *frame = frame_of(handle);
        if (ret && rule && rule->arg == ANY) return ret;  /* the whole call; with ARG, the field alone */
        if (ret == UNINITIALIZED || ret == 15) return ret;
        fields[i].ret = ret;
        if (ret) continue;
        fields[i].value.ull = 0xAAAAAAAAAAAAAAAA;  /* the union's other bytes are whatever they are */
        fields[i].type = rule->n > 1 ? rule->v[1] : 1;
        if (fields[i].type == 1) fields[i].value.u = frame ? frame->n[0] : rule->v[0];
        else fields[i].value.ull = rule->v[0];
    }
    return SUCCESS;
}
#endif

/* --- memory and processes --------------------------------------------------------------------------------------- */

/* v: total, reserved, used without the reserve */
static int memory(void *handle, int function, uint64_t sizes[4]) {
    Rule *rule = NULL;
    int ret = ask(handle, function, ANY, &rule);
    if (ret) return ret;
    Frame *frame = frame_of(handle);
    sizes[0] = rule->v[0], sizes[1] = rule->v[1], sizes[2] = frame ? (uint64_t)frame->n[3] << 20 : rule->v[2];
    sizes[3] = rule->v[0] == UINT64_MAX ? UINT64_MAX : sizes[0] - sizes[1] - sizes[2];
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *handle, Memory *out) {
    uint64_t sizes[4];
    int ret = memory(handle, F_DeviceGetMemoryInfo, sizes);
    if (!ret) out->total = sizes[0], out->free = sizes[3], out->used = sizes[2] + sizes[1];
    return ret;
}

#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(void *handle, Memory2 *out) {
    uint64_t sizes[4];
    if (out->version != 0x02000028) return VERSION_MISMATCH;
    int ret = memory(handle, F_DeviceGetMemoryInfo_v2, sizes);
    if (!ret) out->total = sizes[0], out->reserved = sizes[1], out->free = sizes[3], out->used = sizes[2];
    return ret;
}
#endif

typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } Process;

/* v: pid, bytes, pid, bytes, .. */
static int listed(void *handle, int function, unsigned *count, Process *out) {
    Rule *rule = NULL;
    int ret = ask(handle, function, ANY, &rule);
    if (ret) return ret;
    Frame *frame = function == F_DeviceGetComputeRunningProcesses_v3 ? frame_of(handle) : NULL;
    unsigned n = frame ? frame->pids : rule->n / 2, room = *count;
    const uint64_t *held = frame ? frame->held : rule->v;
    *count = n;
    if (n > room) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < n; i++) out[i] = (Process){held[2 * i], held[2 * i + 1], 0, 0};
    return SUCCESS;
}

#define LIST(name) \
    int nvml##name(void *handle, unsigned *count, Process *out) { return listed(handle, F_##name, count, out); }

LIST(DeviceGetComputeRunningProcesses_v2)
LIST(DeviceGetGraphicsRunningProcesses_v2)
LIST(DeviceGetMPSComputeRunningProcesses_v2)
#ifndef OLD
LIST(DeviceGetComputeRunningProcesses_v3)
LIST(DeviceGetGraphicsRunningProcesses_v3)
LIST(DeviceGetMPSComputeRunningProcesses_v3)
#endif

/* A rule for the device says whether there is an instance N, as ARG; its own calls are asked of DEVICE/N. */
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **out) {
    Rule *rule = NULL;
    int ret = ask(handle, F_DeviceGetMigDeviceHandleByIndex, index, &rule), device = ((Handle *)handle)->device;
    if (ret) return ret == NOT_SUPPORTED && !rule ? NOT_FOUND : ret;
    handles[device][index + 1] = (Handle){device, (int)index + 1};
    *out = &handles[device][index + 1];
    return SUCCESS;
}

/* --- texts ------------------------------------------------------------------------------------------------------ */

static int text(void *handle, int function, char *out, unsigned size) {
    Rule *rule = NULL;
    int ret = ask(handle, function, ANY, &rule);
    if (!ret) snprintf(out, size, "%.*s", (int)size - 1, rule->s);
    return ret;
}

int nvmlDeviceGetName(void *handle, char *out, unsigned size) { return text(handle, F_DeviceGetName, out, size); }

int nvmlDeviceGetUUID(void *handle, char *out, unsigned size) { return text(handle, F_DeviceGetUUID, out, size); }

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} PciInfo;

int nvmlDeviceGetPciInfo_v3(void *handle, PciInfo *out) {
    *out = (PciInfo){0};
    return text(handle, F_DeviceGetPciInfo_v3, out->bus_id, sizeof out->bus_id);
}
