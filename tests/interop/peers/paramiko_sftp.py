# SPDX-License-Identifier: ISC
"""Files of the disk for paramiko's SFTP server, as the server's own user has them."""
import os

import paramiko


def told(what):
    """OSErrors as SFTP's codes."""
    def call(*args):
        try:
            return what(*args)
        except OSError as e:
            return paramiko.SFTPServer.convert_errno(e.errno)
    return call


class Handle(paramiko.SFTPHandle):
    @told
    def stat(self):
        return paramiko.SFTPAttributes.from_stat(os.fstat(self.readfile.fileno()))

    @told
    def chattr(self, attr):
        paramiko.SFTPServer.set_file_attr(self.filename, attr)
        return paramiko.SFTP_OK


class Files(paramiko.SFTPServerInterface):
    @told
    def list_folder(self, path):
        return [paramiko.SFTPAttributes.from_stat(os.lstat(os.path.join(path, n)), n) for n in os.listdir(path)]

    @told
    def stat(self, path):
        return paramiko.SFTPAttributes.from_stat(os.stat(path))

    @told
    def lstat(self, path):
        return paramiko.SFTPAttributes.from_stat(os.lstat(path))

    @told
    def open(self, path, flags, attr):
        mode = attr.st_mode if attr is not None and attr.st_mode is not None else 0o666
        fd = os.open(path, flags, mode)
        handle = Handle(flags)
        handle.filename = path
        handle.readfile = handle.writefile = os.fdopen(fd, "rb" if flags & 3 == os.O_RDONLY else "r+b"
                                                       if flags & os.O_RDWR else "wb", 0)
        return handle

    def change(self, what, *args):
        return told(lambda: what(*args) or paramiko.SFTP_OK)()

    def remove(self, path):
        return self.change(os.remove, path)

    def rename(self, oldpath, newpath):
        if os.path.lexists(newpath):
            return paramiko.SFTP_FAILURE
        return self.change(os.rename, oldpath, newpath)

    def posix_rename(self, oldpath, newpath):
        return self.change(os.rename, oldpath, newpath)

    def mkdir(self, path, attr):
        return self.change(os.mkdir, path)

    def rmdir(self, path):
        return self.change(os.rmdir, path)

    def chattr(self, path, attr):
        return self.change(paramiko.SFTPServer.set_file_attr, path, attr)

    def symlink(self, target_path, path):
        return self.change(os.symlink, target_path, path)

    @told
    def readlink(self, path):
        return os.readlink(path)

    def canonicalize(self, path):
        return os.path.realpath(path)
