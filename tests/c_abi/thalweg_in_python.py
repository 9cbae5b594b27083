"""The structures of thalweg.h for ctypes."""
import ctypes


class Options(ctypes.Structure):
    _fields_ = [('struct_bytes', ctypes.c_size_t), ('rank', ctypes.c_uint32), ('size', ctypes.c_uint32),
                ('master_host', ctypes.c_char_p), ('master_port', ctypes.c_uint16), ('group', ctypes.c_char_p),
                ('timeout_seconds', ctypes.c_double), ('transport', ctypes.c_char_p),
                ('insecure_no_auth', ctypes.c_int), ('secret_file', ctypes.c_char_p), ('listener', ctypes.c_int),
                ('costs_file', ctypes.c_char_p)]

    @classmethod
    def from_environment(cls, environment):
        options = cls(ctypes.sizeof(cls), int(environment['RANK']), int(environment['WORLD_SIZE']),
                      environment['MASTER_ADDR'].encode(), int(environment['MASTER_PORT']))
        options.secret_file = environment.get('THALWEG_SECRET_FILE', '').encode() or None
        return options


class Monoid(ctypes.Structure):
    COMBINE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    _fields_ = [('name', ctypes.c_char_p), ('element_bytes', ctypes.c_size_t), ('combine', COMBINE),
                ('context', ctypes.c_void_p), ('ordered', ctypes.c_int)]


class Call(ctypes.Structure):
    _fields_ = [('struct_bytes', ctypes.c_size_t), ('operation', ctypes.c_int), ('in_', ctypes.c_void_p),
                ('out', ctypes.c_void_p), ('count', ctypes.c_size_t), ('type', ctypes.c_int),
                ('reduction', ctypes.c_int), ('monoid', ctypes.POINTER(Monoid)), ('root', ctypes.c_uint32),
                ('peer', ctypes.c_uint32), ('counts', ctypes.c_void_p), ('counts_out', ctypes.c_void_p),
                ('route', ctypes.c_char_p), ('timeout_seconds', ctypes.c_double), ('piece_bytes', ctypes.c_size_t),
                ('channels', ctypes.c_uint32), ('neighbours', ctypes.c_void_p), ('neighbour_count', ctypes.c_size_t)]


def library_at(path):
    library = ctypes.CDLL(path)
    library.thalweg_message.restype = ctypes.c_char_p
    library.thalweg_allocate.restype = ctypes.c_void_p
    assert library.thalweg_abi_version() == 2
    return library
