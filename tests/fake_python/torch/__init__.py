"""As much of torch as tunebench_events and the drivers touch, for tests without it: tensors of whole
numbers as nested lists, and a CUDA device that counts how often it was waited for."""

long = "int64"
float32 = "torch.float32"
__version__ = "0.fake"


class device:
    def __init__(self, kind):
        self.type = kind


class Tensor:
    def __init__(self, values, kind="cpu"):
        self.values = values
        self.device = device(kind)
        self.dtype = "torch.float32"

    @property
    def shape(self):
        shape = []
        values = self.values
        while isinstance(values, list):
            shape.append(len(values))
            values = values[0] if values else None
        return tuple(shape)

    def _flat(self):
        def walk(values):
            if isinstance(values, list):
                for one in values:
                    yield from walk(one)
            else:
                yield values

        return list(walk(self.values))

    def numel(self):
        return len(self._flat())

    def sum(self):
        return Tensor(sum(self._flat()))

    def item(self):
        return self.values

    def __getitem__(self, key):
        if isinstance(key, tuple) and key[0] is Ellipsis:
            return Tensor([row[key[1]] for row in self.values])
        return Tensor(self.values[key])

    def __ne__(self, other):
        return Tensor([[int(value != other) for value in row] for row in self.values])

    __hash__ = None

    def __add__(self, other):
        return Tensor(self.values + (other.values if isinstance(other, Tensor) else other))

    __radd__ = __add__

    def __float__(self):
        return float(self.values)


def tensor(values, dtype=None):
    return Tensor(values)


def get_num_threads():
    return 2


class cuda:
    waits = 0
    devices = 0
    peaks = [100, 300]

    @classmethod
    def is_available(cls):
        return cls.devices > 0

    is_initialized = is_available

    @classmethod
    def synchronize(cls):
        cls.waits += 1

    @classmethod
    def device_count(cls):
        return cls.devices

    @classmethod
    def max_memory_allocated(cls, index):
        return cls.peaks[index]


bfloat16 = "torch.bfloat16"
float16 = "torch.float16"


class utils:
    class data:
        class SequentialSampler:
            def __init__(self, data):
                self.data = data
