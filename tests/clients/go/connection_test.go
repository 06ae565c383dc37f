// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	user     = "client"
	password = "p@ss/word:1"
	patience = 20 * time.Second
)

// Keys of this run: the daemon remembers those of others.
var runName = strconv.FormatInt(time.Now().UnixNano(), 36)

func env(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run tests/clients/run", name)
	}
	return value
}

func context20(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func key(t *testing.T, name string) string {
	return runName + "/" + t.Name() + "/" + name
}

func connect(t *testing.T, options redis.Options) *redis.Client {
	t.Helper()
	if options.Addr == "" {
		options.Addr = env(t, "METE_OPEN_RESP")
	}
	client := redis.NewClient(&options)
	t.Cleanup(func() { client.Close() })
	return client
}

// eachProtocol runs a test over RESP2 and over RESP3.
func eachProtocol(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", version), func(t *testing.T) {
			test(t, connect(t, redis.Options{Protocol: version}))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustFail(t *testing.T, err error, begins string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), begins) {
		t.Fatalf("wanted an error that begins with %q, got: %v", begins, err)
	}
}

func TestProtocolIsTheOneAskedFor(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		must(t, client.Ping(ctx).Err())
		reply, err := client.Do(ctx, "METE.PEEK", "hundred", key(t, "a")).Result()
		must(t, err)
		_, isMap := reply.(map[interface{}]interface{})
		if isMap != strings.HasSuffix(t.Name(), "RESP3") {
			t.Fatalf("the reply is a %T", reply)
		}
	})
}

func TestSmallCommands(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		echo, err := client.Echo(ctx, "a\r\nb").Result()
		must(t, err)
		if echo != "a\r\nb" {
			t.Errorf("echo: %q", echo)
		}
		now, err := client.Time(ctx).Result()
		must(t, err)
		if age := time.Since(now); age < -time.Minute || age > time.Minute {
			t.Errorf("TIME is %v away", age)
		}
		id, err := client.ClientID(ctx).Result()
		must(t, err)
		if id <= 0 {
			t.Errorf("CLIENT ID: %d", id)
		}
		info, err := client.Info(ctx).Result()
		must(t, err)
		if !strings.Contains(info, "mete_version:") {
			t.Errorf("INFO: %q", info)
		}
		_, err = client.ConfigGet(ctx, "*").Result()
		must(t, err)
		must(t, client.Do(ctx, "SELECT", 0).Err())
	})
}

// go-redis takes the whole reply of COMMAND apart.
func TestCommandTable(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		commands, err := client.Command(context20(t)).Result()
		must(t, err)
		var throttle *redis.CommandInfo
		for name, command := range commands {
			if strings.EqualFold(name, "cl.throttle") {
				throttle = command
			}
		}
		if throttle == nil {
			t.Fatalf("no cl.throttle among %d commands", len(commands))
		}
		if throttle.Arity != -5 || throttle.FirstKeyPos != 1 || throttle.ReadOnly {
			t.Errorf("cl.throttle: %+v", *throttle)
		}
	})
}

func TestNameOfConnection(t *testing.T) {
	client := connect(t, redis.Options{ClientName: "shop-7"})
	name, err := client.ClientGetName(context20(t)).Result()
	must(t, err)
	if name != "shop-7" {
		t.Errorf("CLIENT GETNAME: %q", name)
	}
}

func TestLogin(t *testing.T) {
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", version), func(t *testing.T) {
			ctx, address := context20(t), env(t, "METE_LOCKED_RESP")
			options := redis.Options{Addr: address, Protocol: version, Username: user, Password: password}
			client := connect(t, options)
			decision, err := Throttle(ctx, client, key(t, "a"), 1, 1, time.Hour, 1)
			must(t, err)
			if decision.Limited {
				t.Errorf("the first one: %+v", decision)
			}

			options.Password = "wrong"
			mustFail(t, connect(t, options).Ping(ctx).Err(), "WRONGPASS")
			options.Username, options.Password = "", ""
			mustFail(t, connect(t, options).Ping(ctx).Err(), "NOAUTH")
			options.Username, options.Password = "other", "nothing to see"
			other := connect(t, options)
			mustFail(t, other.Do(ctx, "METE.TAKE", "hundred", "a").Err(), "NOPERM")
			mustFail(t, other.Do(ctx, "CL.THROTTLE", "a", 1, 1, 1).Err(), "NOPERM")
		})
	}
}

// stop returns when each thread of the process has stopped.
func stop(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	threads := fmt.Sprintf("/proc/%d/task", pid)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		tasks, err := os.ReadDir(threads)
		must(t, err)
		running := 0
		for _, task := range tasks {
			stat, err := os.ReadFile(threads + "/" + task.Name() + "/stat")
			must(t, err)
			// The state stands behind the name, which may hold anything.
			if state := stat[bytes.LastIndexByte(stat, ')')+2]; state != 'T' {
				running++
			}
		}
		if running == 0 {
			return
		}
	}
	must(t, syscall.Kill(pid, syscall.SIGCONT))
	t.Fatal("the daemon did not stop")
}

// A client that gives up leaves a reply behind that must reach nobody else.
func TestTimeout(t *testing.T) {
	pid, err := strconv.Atoi(env(t, "METE_OPEN_PID"))
	must(t, err)
	client := connect(t, redis.Options{ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: 4})
	must(t, client.Ping(context20(t)).Err())

	stop(t, pid)
	stopped := true
	resume := func() {
		if stopped {
			stopped = false
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
	}
	defer resume()

	begin := time.Now()
	short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = client.Do(short, "ECHO", "late").Err()
	var timeout net.Error
	if !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &timeout) && timeout.Timeout()) {
		t.Fatalf("not a timeout: %v", err)
	}
	if waited := time.Since(begin); waited > patience/2 {
		t.Errorf("gave up after %v", waited)
	}

	resume()
	for i := 0; i < 50; i++ {
		word := fmt.Sprintf("word-%d", i)
		echo, err := client.Echo(context20(t), word).Result()
		must(t, err)
		if echo != word {
			t.Fatalf("asked for %q, got %q", word, echo)
		}
	}
}

func TestPoolOfManyConnections(t *testing.T) {
	const workers, each = 64, 50
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		pool := connect(t, redis.Options{Protocol: client.Options().Protocol, PoolSize: workers, MinIdleConns: workers})
		ctx := context20(t)
		var group sync.WaitGroup
		failures := make(chan error, workers)
		for w := 0; w < workers; w++ {
			group.Add(1)
			go func(w int) {
				defer group.Done()
				for i := 0; i < each; i++ {
					// 50 of one key each: what remains tells whose reply it is.
					d, err := Throttle(ctx, pool, key(t, strconv.Itoa(w)), each-1, 1, 24*time.Hour, 1)
					if err == nil && (d.Limited || d.Remaining != int64(each-1-i)) {
						err = fmt.Errorf("key %d, request %d: %+v", w, i, d)
					}
					if err != nil {
						failures <- err
						return
					}
				}
			}(w)
		}
		group.Wait()
		close(failures)
		for err := range failures {
			t.Error(err)
		}
		if total := pool.PoolStats().TotalConns; total < workers/2 {
			t.Errorf("only %d connections were open", total)
		}
	})
}
