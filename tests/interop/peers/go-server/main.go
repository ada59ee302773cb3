// SPDX-License-Identifier: ISC

// A Go x/crypto server with the arguments of all peers here:
// PORT HOSTKEY-FILE USER-PUBLIC-KEY USER PASSWORD REKEY-BYTES
package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/crypto/ssh"
)

var names = map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL", syscall.SIGINT: "INT"}

func openPty() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	var n, zero int32
	syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&zero)))
	syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), syscall.TIOCGPTN, uintptr(unsafe.Pointer(&n)))
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

func run(channel ssh.Channel, command string, pty bool) {
	child := exec.Command("/bin/sh", "-c", command)
	var copies sync.WaitGroup
	if pty {
		master, slave, err := openPty()
		if err != nil {
			log.Print(err)
			return
		}
		child.Stdin, child.Stdout, child.Stderr = slave, slave, slave
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		child.Start()
		slave.Close()
		go io.Copy(master, channel)
		copies.Add(1)
		go func() { io.Copy(channel, master); copies.Done() }()
	} else {
		in, _ := child.StdinPipe()
		child.Stdout, child.Stderr = channel, channel.Stderr()
		child.Start()
		go func() { io.Copy(in, channel); in.Close() }()
	}
	err := child.Wait()
	copies.Wait()
	channel.CloseWrite()
	var exit *exec.ExitError
	state := syscall.WaitStatus(0)
	if errors.As(err, &exit) {
		state = exit.Sys().(syscall.WaitStatus)
	}
	if state.Signaled() {
		channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name     string
			Core     bool
			Msg, Lang string
		}{names[state.Signal()], false, "", ""}))
	} else {
		channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(state.ExitStatus())}))
	}
	channel.Close()
}

func session(offer ssh.NewChannel) {
	channel, requests, err := offer.Accept()
	if err != nil {
		return
	}
	pty := false
	for request := range requests {
		switch request.Type {
		case "pty-req":
			pty = true
			request.Reply(true, nil)
		case "env":
			request.Reply(true, nil)
		case "exec":
			var m struct{ Command string }
			ssh.Unmarshal(request.Payload, &m)
			request.Reply(true, nil)
			go run(channel, m.Command, pty)
		default:
			request.Reply(false, nil)
		}
	}
}

func serve(c net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		log.Print(err)
		return
	}
	go ssh.DiscardRequests(requests)
	for offer := range channels {
		if offer.ChannelType() != "session" {
			offer.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		go session(offer)
	}
}

func main() {
	a := os.Args[1:]
	allowed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(a[2]))
	if err != nil {
		log.Fatal(err)
	}
	pem, err := os.ReadFile(a[1])
	if err != nil {
		log.Fatal(err)
	}
	hostkey, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		log.Fatal(err)
	}
	refused := errors.New("refused")
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if m.User() == a[3] && bytes.Equal(key.Marshal(), allowed.Marshal()) {
				return nil, nil
			}
			return nil, refused
		},
		PasswordCallback: func(m ssh.ConnMetadata, word []byte) (*ssh.Permissions, error) {
			if m.User() == a[3] && strings.Compare(string(word), a[4]) == 0 {
				return nil, nil
			}
			return nil, refused
		},
	}
	config.RekeyThreshold, _ = strconv.ParseUint(a[5], 10, 64)
	config.AddHostKey(hostkey)
	listener, err := net.Listen("tcp", "127.0.0.1:"+a[0])
	if err != nil {
		log.Fatal(err)
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(c, config)
	}
}
